/**
 * One inference request from its key to its settlement.
 *
 *     authenticate ─▶ read ─▶ find the model ─▶ hold ─▶ try routes ─▶ settle
 *
 * The order is the order of checks the gap list promises (A11). Nothing is sent to a supplier before the hold is
 * durable, and once it is, no way of ending skips the settlement: success, failure, defect and interruption (the
 * client left) all pass the same release. A stream ends first and is settled after; a whole answer is settled first
 * and written after, so that its receiver finds the charge booked.
 */

import { type Callable, type Candidate, callable, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import type { Ending, Outcome } from "@tollgate/domain/inference/Charge"
import { estimate } from "@tollgate/domain/inference/Estimate"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import { CurrentCatalog } from "../ports/Catalogs.ts"
import { type Admission, InferenceLedger } from "../ports/InferenceLedger.ts"
import { KeyRing } from "../ports/KeyRing.ts"
import { Delivery } from "./Delivery.ts"
import { measureRequest } from "./MeasureRequest.ts"
import { OpenRequests } from "./OpenRequests.ts"
import type { AttemptFailed, InferenceRequest, RelayClient } from "./RelayClient.ts"

export const relayRequest = <Request extends InferenceRequest>(client: RelayClient<Request>) =>
  Effect.gen(function* () {
    const presented = yield* client.presentedKey
    const principal = yield* (yield* KeyRing).authenticate(presented)
    const body = yield* client.body
    const request = yield* client.read(body)
    const { model, candidates } = yield* callable((yield* CurrentCatalog).get(), request.model, client.protocol)
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
    const ledger = yield* InferenceLedger
    const open = yield* OpenRequests
    const delivery = new Delivery(client.requestId, admission.estimate.inputFloor, client)
    const measure = (outcome: Outcome, content: string) => measureRequest(outcome, content, request, delivery)
    let settled = false

    yield* Effect.acquireUseRelease(
      Effect.tap(ledger.admit(admission), () => Effect.sync(() => open.add(delivery))),
      () =>
        Effect.gen(function* () {
          const attempt = yield* tryRoutes(client, request, yield* inOrder(candidates), delivery)
          if (attempt._tag === "Streamed") return
          const { reported } = delivery
          const answered = yield* measure({ ending: "complete", reported, delivered: true }, attempt.content)
          const left = yield* measure({ ending: "client_gone", reported, delivered: false }, "")
          yield* Effect.uninterruptible(
            Effect.suspend(() => {
              settled = true
              return ledger.settle({ admission, measure: () => (client.gone() ? left : answered) })
            })
          )
          yield* attempt.write
        }),
      (_, exit) =>
        Effect.suspend(() => {
          open.delete(delivery)
          if (settled) return Effect.void
          const { reported, text } = delivery
          const outcome = { ending: endingOf(exit, delivery), reported, delivered: text.deltas > 0 }
          return Effect.flatMap(measure(outcome, text.text), (measured) =>
            ledger.settleLater({ admission, measure: () => measured })
          )
        })
    )
  })

const endingOf = (exit: Exit.Exit<unknown, unknown>, delivery: Delivery): Ending => {
  if (Exit.isSuccess(exit)) return "complete"
  if (Cause.isInterrupted(exit.cause)) return "client_gone"
  return delivery.text.deltas > 0 ? "upstream_cut" : "failed"
}

const inOrder = (candidates: Callable["candidates"]): Effect.Effect<ReadonlyArray<Candidate>> =>
  candidates.length < 2
    ? Effect.succeed(candidates)
    : Effect.map(
        Effect.forEach(candidates, () => Random.next),
        (draws) => orderCandidates(candidates, draws)
      )

/**
 * The first route that answers. A failure goes on to the next route only while nothing reached the client, and the
 * error told in the end is the most telling one: what a supplier did, before our own refusal to ask one.
 */
const tryRoutes = <Request extends InferenceRequest>(
  client: RelayClient<Request>,
  request: Request,
  candidates: ReadonlyArray<Candidate>,
  delivery: Delivery
) =>
  Effect.gen(function* () {
    let told: AttemptFailed["error"] | undefined
    for (const candidate of candidates) {
      const attempt = yield* Effect.either(client.attempt(request, candidate, delivery))
      if (attempt._tag === "Right") return attempt.right
      const { error, elsewhere } = attempt.left
      if (told === undefined || telling(error) >= telling(told)) told = error
      if (!elsewhere || client.committed()) break
    }
    return yield* Effect.fail(told ?? new UpstreamFailed({ cause: "no route" }))
  })

const telling = (error: AttemptFailed["error"]): number =>
  error._tag === "CircuitOpen" ? 0 : error._tag === "Overloaded" ? 1 : 2
