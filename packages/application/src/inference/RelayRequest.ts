/**
 * One inference request from its key to its settlement.
 *
 *     authenticate ─▶ read ─▶ find the model ─▶ hold ─▶ try routes ─▶ settle
 *
 * The order is the order of checks the gap list promises (A11). Nothing is sent to a supplier before the hold is
 * durable, and once it is, no way of ending skips the settlement: only waiting for the body and for a supplier can be
 * interrupted (the client left), and whatever becomes of the supplier is taken as a value. A stream ends first and is
 * settled after; a whole answer is settled first and written after, so that its receiver finds the charge booked.
 *
 * The ports are looked up once, not for every request: this is the hot path.
 */

import { type Callable, type Candidate, callable, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import type { Ending, Outcome } from "@tollgate/domain/inference/Charge"
import { estimate } from "@tollgate/domain/inference/Estimate"
import type {
  InsufficientBalance,
  InvalidApiKey,
  InvalidRequest,
  ModelNotFound,
  Overloaded,
  RequestTooLarge
} from "@tollgate/domain/inference/InferenceErrors"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import { CurrentCatalog } from "../ports/Catalogs.ts"
import { type Admission, InferenceLedger } from "../ports/InferenceLedger.ts"
import { KeyRing } from "../ports/KeyRing.ts"
import { TokenCounter } from "../ports/TokenCounter.ts"
import { Delivery } from "./Delivery.ts"
import { countsFor, measured } from "./MeasureRequest.ts"
import { OpenRequests } from "./OpenRequests.ts"
import type { Attempt, AttemptError, AttemptFailed, InferenceRequest, RelayClient } from "./RelayClient.ts"

export type RelayRequestError =
  | InvalidApiKey
  | InvalidRequest
  | RequestTooLarge
  | ModelNotFound
  | InsufficientBalance
  | Overloaded
  | AttemptError

export type RelayRequest = <Request extends InferenceRequest>(
  client: RelayClient<Request>
) => Effect.Effect<void, RelayRequestError>

export const makeRelayRequest: Effect.Effect<
  RelayRequest,
  never,
  KeyRing | CurrentCatalog | InferenceLedger | OpenRequests | TokenCounter
> = Effect.gen(function* () {
  const keyRing = yield* KeyRing
  const catalog = yield* CurrentCatalog
  const ledger = yield* InferenceLedger
  const open = yield* OpenRequests
  const counter = yield* TokenCounter

  const relay = function* <Request extends InferenceRequest>(client: RelayClient<Request>) {
    const principal = yield* keyRing.authenticate(yield* client.presentedKey)
    const request = yield* client.read(yield* client.body)
    const { model, candidates } = yield* callable(catalog.get(), request.model, client.protocol)
    const admission: Admission = {
      requestId: client.requestId,
      principal,
      modelId: model.id,
      priceId: model.priceId,
      price: model.price,
      protocol: client.protocol,
      streamed: request.streamed,
      estimate: estimate(request.size)
    }
    const delivery = new Delivery(client.requestId, admission.estimate.inputFloor, client)

    yield* ledger.admit(admission)
    const exit = yield* Effect.exit(
      Effect.suspend(() => {
        open.add(delivery)
        return Effect.interruptible(tryRoutes(client, request, candidates, delivery))
      })
    )
    open.delete(delivery)
    const { reported, text } = delivery

    if (Exit.isSuccess(exit) && exit.value._tag === "Answered") {
      const { content, write } = exit.value
      const complete: Outcome = { ending: "complete", reported, delivered: true }
      const left: Outcome = { ending: "client_gone", reported, delivered: false }
      const counts = yield* countsFor(complete, content, request, counter)
      yield* ledger.settle({ admission, measure: () => measured(client.gone() ? left : complete, counts, delivery) })
      yield* write
    } else {
      const outcome: Outcome = { ending: endingOf(exit, delivery), reported, delivered: text.deltas > 0 }
      const counts = yield* countsFor(outcome, text.text, request, counter)
      const last = measured(outcome, counts, delivery)
      yield* ledger.settleLater({ admission, measure: () => last })
      if (Exit.isFailure(exit)) return yield* exit
    }
  }
  // One generator function for all requests: each new one costs a hidden class of its own, which keeps all that the
  // function closes over alive until the next full collection.
  return (client) => Effect.uninterruptible(Effect.gen(() => relay(client)))
})

const endingOf = (exit: Exit.Exit<Attempt, AttemptError>, delivery: Delivery): Ending => {
  if (Exit.isSuccess(exit)) return "complete"
  if (Cause.isInterrupted(exit.cause)) return "client_gone"
  return delivery.text.deltas > 0 ? "upstream_cut" : "failed"
}

/**
 * The first route that answers. A failure goes on to the next route only while nothing reached the client, and the
 * error told in the end is the most telling one: what a supplier did, before our own refusal to ask one.
 */
const tryRoutes = <Request extends InferenceRequest>(
  client: RelayClient<Request>,
  request: Request,
  candidates: Callable["candidates"],
  delivery: Delivery
): Effect.Effect<Attempt, AttemptError> => {
  const tryFrom = (
    order: ReadonlyArray<Candidate>,
    place: number,
    told: AttemptError | undefined
  ): Effect.Effect<Attempt, AttemptError> => {
    const candidate = order[place]
    if (candidate === undefined) return Effect.fail(told ?? new UpstreamFailed({ cause: "no route" }))
    return Effect.catchAll(client.attempt(request, candidate, delivery), ({ error, elsewhere }: AttemptFailed) => {
      const worst = told === undefined || telling(error) >= telling(told) ? error : told
      return elsewhere && !client.committed() ? tryFrom(order, place + 1, worst) : Effect.fail(worst)
    })
  }
  return candidates.length === 1
    ? tryFrom(candidates, 0, undefined)
    : Effect.flatMap(inOrder(candidates), (order) => tryFrom(order, 0, undefined))
}

const inOrder = (candidates: Callable["candidates"]): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.map(
    Effect.forEach(candidates, () => Random.next),
    (draws) => orderCandidates(candidates, draws)
  )

const telling = (error: AttemptError): number =>
  error._tag === "CircuitOpen" ? 0 : error._tag === "Overloaded" ? 1 : 2
