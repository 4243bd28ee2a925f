/**
 * One image request from its key to its settlement.
 *
 *     authenticate ─▶ read ─▶ hold ─▶ try routes ─▶ settle ─▶ answer
 *
 * Nothing is sent to a provider before the request is known to be the only one of its account. From then on every way
 * of ending settles: a picture, a refusal, an internal error, a timeout, and a client that left. It is settled
 * first and answered after, so that its receiver finds the charge booked.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import {
  type ContentPolicyViolation,
  type IdempotencyKeyReused,
  type ImageConcurrencyLimit,
  ImageTimeout,
  type ImageWithheld
} from "@tollgate/domain/images/ImageErrors"
import { estimateImage } from "@tollgate/domain/images/ImageEstimate"
import { type Billing, type ImageEnd, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { capableOf, type ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { type InvalidApiKey, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { ApiKeyAuthenticator } from "../inference/ApiKeyAuthenticator.ts"
import { type AttemptError, mostInformativeError, routesInOrder } from "../inference/RouteAttempts.ts"
import type { Admission } from "../ledger/InferenceLedger.ts"
import type { ImageAnswer, ImageBodyRefusal, ImageConnection } from "./ImageConnection.ts"
import { ImageRequests } from "./ImageRequests.ts"

export interface MadeImage<Picture> {
  readonly picture: Picture
  readonly billing: Billing
  readonly usage: ReportedUsage
}

export type ImageRequestError =
  | InvalidApiKey
  | ImageBodyRefusal
  | IdempotencyKeyReused
  | ImageConcurrencyLimit
  | InsufficientBalance
  | ContentPolicyViolation
  | ImageTimeout
  | ImageWithheld
  | AttemptError

/** From acceptance to the picture (docs/reference/images.md#img-12). */
export const IMAGE_TIMEOUT_MILLIS = 120_000

export const makeImage = <Picture>(
  client: ImageConnection<Picture>
): Effect.Effect<MadeImage<Picture>, ImageRequestError, ApiKeyAuthenticator | CurrentCatalog | ImageRequests> =>
  // Leaving interrupts what can be interrupted; what is begun is finished whatever happens.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const images = yield* ImageRequests
      const { admission, candidates, idempotencyKey, request } = yield* restore(inTime(client, admissible(client)))
      yield* images.begin({ admission, idempotencyKey })

      const attempts = new RouteAttempts(client, request, candidates)
      const exit = yield* Effect.exit(restore(inTime(client, attempts.run)))
      const durationMillis = Math.max(0, Math.round(client.nowMillis() - client.acceptedAtMillis))
      const outcome = () => outcomeOf(endOf(exit, client), attempts.dispatched)
      const written = yield* images.finish({ admission, outcome, durationMillis })

      if (Exit.isFailure(exit) && isFault(exit.cause)) return yield* Effect.failCause(exit.cause)
      if (written === undefined) return yield* new UpstreamFailed({ cause: "the lease of the request had passed" })
      if (written.response._tag === "Refusal") return yield* written.response.error
      if (written.response._tag === "None" || Exit.isFailure(exit) || exit.value._tag !== "Pictured") {
        return yield* Effect.interrupt
      }
      return { picture: exit.value.picture, billing: written.response.billing, usage: exit.value.usage }
    })
  )

interface Admissible {
  readonly admission: Admission
  readonly candidates: ReadonlyArray<Candidate>
  readonly idempotencyKey: string | undefined
  readonly request: ImageRequest
}

/** Everything that can be said against a request without touching money. */
const admissible = <Picture>(client: ImageConnection<Picture>) =>
  Effect.gen(function* () {
    const principal = yield* (yield* ApiKeyAuthenticator).authenticate(yield* client.presentedKey)
    const idempotencyKey = yield* client.idempotencyKey
    const catalog = (yield* CurrentCatalog).get()
    const request = yield* client.takeRequest((model) =>
      Either.map(capableOf(catalog, model, client.operation), () => undefined)
    )
    const { model, candidates } = yield* capableOf(catalog, request.model, request.operation)
    const admission: Admission = {
      requestId: client.requestId,
      principal,
      modelId: model.id,
      priceId: model.priceId,
      price: model.price,
      protocol: "images",
      streamed: false,
      estimate: estimateImage(request)
    }
    return { admission, candidates, idempotencyKey, request } satisfies Admissible
  })

/** The routes of a request in their order, until one answers. */
class RouteAttempts<Picture> {
  /** Something was sent, or is being sent, to a provider. */
  dispatched = false
  readonly #client: ImageConnection<Picture>
  readonly #request: ImageRequest
  readonly #candidates: ReadonlyArray<Candidate>

  constructor(client: ImageConnection<Picture>, request: ImageRequest, candidates: ReadonlyArray<Candidate>) {
    this.#client = client
    this.#request = request
    this.#candidates = candidates
  }

  /** Fails with the most informative error: a failure of a provider, before our own refusal to ask one. */
  readonly run: Effect.Effect<ImageAnswer<Picture>, AttemptError> = Effect.suspend(() =>
    Effect.flatMap(routesInOrder(this.#candidates), (candidates) => this.#tryFrom(candidates, 0, undefined))
  )

  #tryFrom(
    candidates: ReadonlyArray<Candidate>,
    tried: number,
    told: AttemptError | undefined
  ): Effect.Effect<ImageAnswer<Picture>, AttemptError> {
    const candidate = candidates[tried]
    if (candidate === undefined) return Effect.fail(told ?? new UpstreamFailed({ cause: "no route" }))
    const before = this.dispatched
    this.dispatched = true
    return Effect.catchAll(this.#client.ask(this.#request, candidate), ({ error, retryElsewhere, unsent }) => {
      if (unsent) this.dispatched = before
      const most = mostInformativeError(told, error)
      return retryElsewhere ? this.#tryFrom(candidates, tried + 1, most) : Effect.fail(most)
    })
  }
}

const endOf = <Picture>(
  exit: Exit.Exit<ImageAnswer<Picture>, AttemptError | ImageTimeout>,
  client: ImageConnection<Picture>
): ImageEnd => {
  if (Exit.isSuccess(exit)) {
    const answer = exit.value
    return answer._tag === "Pictured" ? { _tag: client.gone() ? "Left" : "Pictured", usage: answer.usage } : answer
  }
  if (Cause.isInterrupted(exit.cause)) return { _tag: "Left", usage: undefined }
  const error = Option.getOrElse(
    Cause.failureOption(exit.cause),
    () => new UpstreamFailed({ cause: "a fault of ours" })
  )
  return error._tag === "ImageTimeout" ? { _tag: "TimedOut" } : { _tag: "Failed", error }
}

const isFault = (cause: Cause.Cause<unknown>): boolean =>
  !Cause.isInterrupted(cause) && Option.isNone(Cause.failureOption(cause))

/** The time of a request begins with its acceptance, however long it took to be read. */
const inTime = <A, E, R>(client: ImageConnection<unknown>, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const left = client.acceptedAtMillis + IMAGE_TIMEOUT_MILLIS - client.nowMillis()
    const late = () => new ImageTimeout()
    return left > 0
      ? Effect.timeoutFail(effect, { duration: Duration.millis(left), onTimeout: late })
      : Effect.fail(late())
  })
