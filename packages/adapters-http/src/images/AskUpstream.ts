/**
 * Asks one supplier for an image, and says what its answer comes to: for the customer, and about the supplier.
 */
import type { ImageAnswer } from "@tollgate/application/images/ImageConnection"
import type { AttemptError, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { UpstreamRequest, Upstreams, Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import type { RelayCounters } from "../inference/relay/RelayMetrics.ts"
import { providerNames, refusedAttempt, verdictOf } from "../inference/relay/UpstreamFailure.ts"
import { parseProviderError, providerErrorOf, refusalIn, refusalOfStatus } from "../wire/UpstreamRefusal.ts"
import { USUAL_BYTES } from "./AnswerMemory.ts"
import { type Heard, ImageExchange } from "./ImageExchange.ts"
import { declined } from "./ImageRefusal.ts"
import { frameOf, replyWith } from "./PictureReply.ts"
import { supplierRequest } from "./UpstreamImageRequest.ts"

export interface Asking {
  readonly requestId: RequestId
  readonly upstreams: Context.Tag.Service<Upstreams>
  readonly counters: RelayCounters
  readonly reservation: MemoryReservation
  readonly createdAtSeconds: number
}

/** What was heard means this, and this was to be learnt about the supplier. */
interface Meaning {
  readonly verdict: Verdict
  readonly answer: Effect.Effect<ImageAnswer<Buffer>, FailedAttempt>
}

export const askSupplier = (
  asking: Asking,
  request: ImageRequest,
  candidate: Candidate
): Effect.Effect<ImageAnswer<Buffer>, FailedAttempt> =>
  Effect.suspend(() => {
    const sent = supplierRequest(request, candidate)
    // Room for a usual picture is taken first: whoever finds none is told so while it costs nothing.
    if (!asking.reservation.take(USUAL_BYTES + sent.body.length)) {
      return Effect.fail({ error: new Overloaded({ retryAfterSeconds: 1 }), retryElsewhere: false, unsent: true })
    }
    return exchanged(asking, request, sent)
  })

const exchanged = (asking: Asking, request: ImageRequest, sent: UpstreamRequest) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new ImageExchange(asking.counters, asking.reservation, USUAL_BYTES)),
    (exchange) =>
      exchange.hear(asking.upstreams, sent).pipe(
        Effect.flatMap((heard) => meaningOf(asking, request, sent.candidate, heard)),
        Effect.tap(({ verdict }) => Effect.sync(() => exchange.close(verdict))),
        Effect.flatMap(({ answer }) => answer),
        Effect.tapError(({ error }) => report(asking, sent.candidate, exchange.status, error))
      ),
    // Nobody waits for it any more, if it is not closed by now.
    (exchange) => Effect.sync(() => exchange.close("undecided"))
  )

const meaningOf = (
  { createdAtSeconds }: Asking,
  request: ImageRequest,
  candidate: Candidate,
  heard: Heard
): Effect.Effect<Meaning> => {
  switch (heard._tag) {
    case "TooLarge":
      return Effect.succeed(served({ _tag: "TooLarge" }))
    case "Refusal":
      return Effect.succeed(refusalMeaning(request, candidate, heard))
    case "Answer":
      return answerMeaning(request, candidate, heard, createdAtSeconds)
  }
}

const served = (answer: ImageAnswer<Buffer>): Meaning => ({ verdict: "served", answer: Effect.succeed(answer) })

const failed = (error: AttemptError, retryElsewhere: boolean): Meaning => ({
  verdict: error._tag === "UpstreamFailed" ? "failed" : "served",
  answer: Effect.fail({ error, retryElsewhere })
})

const refusalMeaning = (
  request: ImageRequest,
  candidate: Candidate,
  { status, retryAfter, body }: Heard & { readonly _tag: "Refusal" }
): Meaning => {
  const names = providerNames(request.model, candidate)
  const policy = declined(status, parseProviderError(body), names)
  if (policy !== undefined) return served({ _tag: "Declined", error: policy })
  const error = refusalOfStatus(status, retryAfter, body, names)
  return { verdict: verdictOf(status, error), answer: Effect.fail(refusedAttempt(error)) }
}

/** It may be billed to us by now, so only a limit, which is none, leads to another supplier. */
const answerMeaning = (
  request: ImageRequest,
  candidate: Candidate,
  { gathered }: Heard & { readonly _tag: "Answer" },
  createdAtSeconds: number
): Effect.Effect<Meaning> =>
  Effect.suspend(() => {
    const framed = frameOf(gathered)
    if (framed === undefined)
      return Effect.succeed(failed(new UpstreamFailed({ cause: "answered with no JSON" }), false))
    const policy = declined(200, providerErrorOf(framed.frame), providerNames(request.model, candidate))
    if (policy !== undefined) return Effect.succeed(served({ _tag: "Declined", error: policy }))
    const refusal = refusalIn(framed.frame)
    if (refusal !== undefined) return Effect.succeed(failed(refusal, refusal._tag === "TechnicalLimit"))
    return Effect.match(replyWith(gathered, framed, createdAtSeconds), {
      onSuccess: served,
      onFailure: (error) => failed(error, false)
    })
  })

/** For operators only. */
const report = (asking: Asking, { provider, route }: Candidate, status: number | undefined, error: AttemptError) =>
  error._tag === "UpstreamFailed"
    ? Effect.logWarning("upstream request failed", {
        request_id: asking.requestId,
        provider: provider.name,
        upstream_model: route.upstreamModel,
        status,
        cause: error.cause
      })
    : Effect.void
