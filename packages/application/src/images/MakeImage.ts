/**
 * Handles one image request, from authentication to settlement.
 *
 *     authenticate ─▶ read ─▶ hold ─▶ try routes ─▶ settle ─▶ respond
 *
 * A request is admitted only if its customer has no other running image request. An admitted request is settled in
 * every case: an image, a refusal, an internal error, a timeout or a client that disconnects. The request is settled
 * before the response is sent, so that the charge is visible as soon as the client has the response.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { allowsModel } from "@tollgate/domain/customer/KeyLimits"
import {
  type ContentPolicyViolation,
  type IdempotencyKeyReused,
  type ImageConcurrencyLimit,
  ImageTimeout,
  type ImageWithheld
} from "@tollgate/domain/images/ImageErrors"
import { estimateImage } from "@tollgate/domain/images/ImageEstimate"
import { type Billing, type ImageEnd, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { callableForImages, type ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { type InvalidApiKey, ModelNotFound, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { ApiKeyAuthenticator } from "../inference/ApiKeyAuthenticator.ts"
import { type Attributes, type RequestTrace, RequestTraces } from "../inference/RequestTrace.ts"
import { mostInformativeError, type RouteError, routesInOrder } from "../inference/RouteAttempts.ts"
import type { Admission } from "../ledger/InferenceLedger.ts"
import { NO_PROVIDER, type RouteTraffic, Traffic, type TrafficCounters } from "../ledger/Traffic.ts"
import type { ImageBodyRefusal, ImageConnection, ImageResult, ModelCheck } from "./ImageConnection.ts"
import { ImageRequests } from "./ImageRequests.ts"

export interface MadeImage<Image> {
  readonly image: Image
  readonly billing: Billing
  readonly usage: ReportedUsage
}

export type ImageRequestError =
  | InvalidApiKey
  | ImageBodyRefusal
  | IdempotencyKeyReused
  | ImageConcurrencyLimit
  | InsufficientBalance
  | KeyBudgetExceeded
  | KeyRateLimited
  | ContentPolicyViolation
  | ImageTimeout
  | ImageWithheld
  | RouteError

/** The maximum time from the arrival of the request's head to the complete image (docs/reference/images.md#img-12). */
export const IMAGE_TIMEOUT_MILLIS = 120_000

export const makeImage = <Image>(
  connection: ImageConnection<Image>
): Effect.Effect<MadeImage<Image>, ImageRequestError, ApiKeyAuthenticator | CurrentCatalog | ImageRequests> =>
  // A client that disconnects interrupts only the parts in `restore`. After `images.begin` has succeeded,
  // `images.finish` runs.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const images = yield* ImageRequests
      const { admission, candidates, idempotencyKey, request } = yield* restore(
        beforeTimeout(connection, admissionOf(connection))
      )
      const traffic = yield* Traffic
      const trace = (yield* RequestTraces)?.begin(connection.requestId, { model: request.model, protocol: "images" })
      yield* traced(trace, "admission", images.begin({ admission, idempotencyKey }), (error) => error).pipe(
        Effect.tapErrorCause((cause) => Effect.sync(() => traffic.refused(request.model, cause))),
        Effect.onError((cause) => Effect.sync(() => trace?.request.end(Exit.failCause(cause))))
      )

      const attempts = new ImageRouteAttempts(connection, request, candidates, traffic, trace)
      const exit = yield* Effect.exit(restore(beforeTimeout(connection, attempts.run)))
      const durationMillis = Math.max(0, Math.round(connection.nowMillis() - connection.acceptedAtMillis))
      const outcome = () => outcomeOf(imageEndOf(exit, connection, attempts.consumed), attempts.dispatched)
      const written = yield* traced(
        trace,
        "settlement",
        images.finish({ admission, outcome, durationMillis, route: attempts.route }),
        (error) => error
      )
      trace?.request.end(exit)

      if (Exit.isFailure(exit) && isDefect(exit.cause)) return yield* Effect.failCause(exit.cause)
      if (written === undefined) return yield* new UpstreamFailed({ cause: "the lease of the request has expired" })
      if (written.response._tag === "Refusal") return yield* written.response.error
      if (written.response._tag === "None" || Exit.isFailure(exit) || exit.value._tag !== "Completed") {
        return yield* Effect.interrupt
      }
      return { image: exit.value.image, billing: written.response.billing, usage: exit.value.usage }
    })
  )

interface AdmissibleRequest {
  readonly admission: Admission
  readonly candidates: ReadonlyArray<Candidate>
  readonly idempotencyKey: string | undefined
  readonly request: ImageRequest
}

/** Runs all checks that need no ledger transaction, and returns the data for the hold. */
const admissionOf = <Image>(connection: ImageConnection<Image>) =>
  Effect.gen(function* () {
    const principal = yield* (yield* ApiKeyAuthenticator).authenticate(yield* connection.presentedKey)
    const idempotencyKey = yield* connection.idempotencyKey
    const catalog = (yield* CurrentCatalog).get()
    const capable = (model: string) =>
      allowsModel(principal.limits, model)
        ? callableForImages(catalog, model, connection.operation)
        : Either.left(new ModelNotFound({ model }))
    const check: ModelCheck = (model) => Either.map(capable(model), () => undefined)
    const request = yield* connection.readRequest(principal.userId, check)
    const { model, candidates } = yield* capable(request.model)
    const admission: Admission = {
      requestId: connection.requestId,
      principal,
      modelId: model.id,
      priceId: model.priceId,
      price: model.price,
      protocol: "images",
      streamed: false,
      estimate: estimateImage(request)
    }
    return { admission, candidates, idempotencyKey, request } satisfies AdmissibleRequest
  })

/** Tries the routes of a request in order, until one returns a result. */
class ImageRouteAttempts<Image> {
  /** True if the request was sent, or is being sent, to a provider. */
  dispatched = false
  /** The usage in a response that cannot be delivered. */
  consumed: ReportedUsage | undefined
  readonly #connection: ImageConnection<Image>
  readonly #request: ImageRequest
  readonly #candidates: ReadonlyArray<Candidate>
  readonly #traffic: TrafficCounters
  readonly #trace: RequestTrace | undefined
  /** The counters of the last attempt's route. */
  route: RouteTraffic

  constructor(
    connection: ImageConnection<Image>,
    request: ImageRequest,
    candidates: ReadonlyArray<Candidate>,
    traffic: TrafficCounters,
    trace: RequestTrace | undefined
  ) {
    this.#connection = connection
    this.#traffic = traffic
    this.#trace = trace
    this.route = traffic.of(request.model, NO_PROVIDER)
    this.#request = request
    this.#candidates = candidates
  }

  /**
   * Returns the result of the first attempt that succeeds. Tries the next route only after a failure that allows a
   * retry. If no attempt succeeds, fails with the most informative error (`mostInformativeError`).
   */
  readonly run: Effect.Effect<ImageResult<Image>, RouteError> = Effect.suspend(() =>
    Effect.flatMap(routesInOrder(this.#candidates), (candidates) => this.#tryFrom(candidates, 0, undefined))
  )

  #tryFrom(
    candidates: ReadonlyArray<Candidate>,
    tried: number,
    earlier: RouteError | undefined
  ): Effect.Effect<ImageResult<Image>, RouteError> {
    const candidate = candidates[tried]
    if (candidate === undefined) return Effect.fail(earlier ?? new UpstreamFailed({ cause: "no route" }))
    const before = this.dispatched
    this.dispatched = true
    const failed = tried > 0 ? this.route : undefined
    const route = this.#traffic.attempt(this.#request.model, candidate.provider.name, failed)
    this.route = route
    const { provider, route: target } = candidate
    const attempt = traced(
      this.#trace,
      "upstream",
      this.#connection.attempt(this.#request, candidate),
      ({ error }) => error,
      { provider: provider.name, upstream_model: target.upstreamModel }
    )
    return Effect.catchAll(attempt, ({ error, retryElsewhere, unsent, consumed }) => {
      route.attemptFailed(error._tag)
      this.consumed = consumed
      if (unsent) this.dispatched = before
      const most = mostInformativeError(earlier, error)
      return retryElsewhere ? this.#tryFrom(candidates, tried + 1, most) : Effect.fail(most)
    })
  }
}

/** Runs a step of the request, with a span if the request is traced. */
const traced = <A, E, R>(
  trace: RequestTrace | undefined,
  name: "admission" | "upstream" | "settlement",
  step: Effect.Effect<A, E, R>,
  errorOf: (failure: E) => { readonly _tag: string },
  attributes: Attributes = {}
): Effect.Effect<A, E, R> =>
  trace === undefined
    ? step
    : Effect.suspend(() => {
        const span = trace.start(name, name === "upstream" ? "client" : "internal", attributes)
        return Effect.onExit(step, (exit) => Effect.sync(() => span.end(Exit.mapError(exit, errorOf))))
      })

const imageEndOf = <Image>(
  exit: Exit.Exit<ImageResult<Image>, RouteError | ImageTimeout>,
  connection: ImageConnection<Image>,
  consumed: ReportedUsage | undefined
): ImageEnd => {
  if (Exit.isSuccess(exit)) {
    const result = exit.value
    return result._tag === "Completed"
      ? { _tag: connection.gone() ? "ClientGone" : "Completed", usage: result.usage }
      : result
  }
  if (Cause.isInterrupted(exit.cause)) return { _tag: "ClientGone", usage: undefined }
  const error = Option.getOrElse(Cause.failureOption(exit.cause), () => new UpstreamFailed({ cause: "internal error" }))
  return error._tag === "ImageTimeout" ? { _tag: "TimedOut" } : { _tag: "Failed", error, usage: consumed }
}

const isDefect = (cause: Cause.Cause<unknown>): boolean =>
  !Cause.isInterrupted(cause) && Option.isNone(Cause.failureOption(cause))

/** Limits an effect to the remaining time. The timeout starts at the arrival of the request's head, before its body. */
const beforeTimeout = <A, E, R>(connection: ImageConnection<unknown>, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const remainingMillis = connection.acceptedAtMillis + IMAGE_TIMEOUT_MILLIS - connection.nowMillis()
    const timeout = () => new ImageTimeout()
    return remainingMillis > 0
      ? Effect.timeoutFail(effect, { duration: Duration.millis(remainingMillis), onTimeout: timeout })
      : Effect.fail(timeout())
  })
