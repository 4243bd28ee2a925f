/**
 * Makes one attempt to get an image from one provider. Returns the result for the customer, and gives the circuit
 * breaker a verdict on the provider.
 */
import type { ImageResult } from "@tollgate/application/images/ImageConnection"
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
import type { UpstreamRequest, Upstreams, Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { ContentPolicyViolation } from "@tollgate/domain/images/ImageErrors"
import type { ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import type { RelayCounters } from "../inference/relay/RelayMetrics.ts"
import { refusedAttempt, verdictOf } from "../inference/relay/UpstreamFailure.ts"
import type { ProviderSecrets } from "../wire/ProviderSecrets.ts"
import { type ProviderNames, redactedText } from "../wire/Redaction.ts"
import {
  type ProviderError,
  parseProviderError,
  providerErrorOf,
  refusalIn,
  refusalOfStatus,
  withoutEmptyError
} from "../wire/UpstreamRefusal.ts"
import { type ExchangeResult, ImageExchange } from "./ImageExchange.ts"
import { parseAroundImage, responseBody } from "./ImageResponseBody.ts"
import { USUAL_RESPONSE_BYTES } from "./ResponseBuffer.ts"
import { upstreamImageRequest } from "./UpstreamImageRequest.ts"

export interface ImageAttemptContext {
  readonly requestId: RequestId
  readonly upstreams: Context.Tag.Service<Upstreams>
  readonly counters: RelayCounters
  readonly reservation: MemoryReservation
  readonly createdAtSeconds: number
  readonly secrets: ProviderSecrets
}

/** The result of the attempt, and the verdict on the provider. */
interface Judged {
  readonly verdict: Verdict
  readonly result: Effect.Effect<ImageResult<Buffer>, FailedAttempt<RouteError>>
}

export const attemptImage = (
  context: ImageAttemptContext,
  request: ImageRequest,
  candidate: Candidate
): Effect.Effect<ImageResult<Buffer>, FailedAttempt<RouteError>> =>
  Effect.suspend((): Effect.Effect<ImageResult<Buffer>, FailedAttempt<RouteError>> => {
    const sent = upstreamImageRequest(request, candidate)
    // Without memory for an image of the usual size, the request is refused before anything is sent to the provider.
    if (!context.reservation.take(USUAL_RESPONSE_BYTES + sent.body.length)) {
      return Effect.fail({ error: new Overloaded({ retryAfterSeconds: 1 }), retryElsewhere: false, unsent: true })
    }
    return exchangeWith(context, request, sent)
  })

const exchangeWith = (context: ImageAttemptContext, request: ImageRequest, sent: UpstreamRequest) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new ImageExchange(context.counters, context.reservation, USUAL_RESPONSE_BYTES)),
    (exchange) =>
      exchange.run(context.upstreams, sent).pipe(
        Effect.flatMap((ended) => judge(context, request, sent.candidate, ended)),
        Effect.tap(({ verdict }) => Effect.sync(() => exchange.close(verdict))),
        Effect.flatMap(({ result }) => result),
        Effect.tapError(({ error }) => report(context, sent.candidate, exchange.status, error))
      ),
    // An exchange that has no verdict here was interrupted or not sent, so nothing is known about the provider.
    (exchange) => Effect.sync(() => exchange.close("undecided"))
  )

const judge = (
  { createdAtSeconds, secrets }: ImageAttemptContext,
  request: ImageRequest,
  candidate: Candidate,
  ended: ExchangeResult
): Effect.Effect<Judged> => {
  switch (ended._tag) {
    case "TooLarge":
      return Effect.succeed(served({ _tag: "TooLarge", usage: undefined }))
    case "Refusal":
      return Effect.succeed(judgeRefusal(secrets.namesFor(request.model, candidate), ended))
    case "Response":
      return judgeResponse(secrets.namesFor(request.model, candidate), ended, createdAtSeconds)
  }
}

const served = (result: ImageResult<Buffer>): Judged => ({ verdict: "served", result: Effect.succeed(result) })

const failed = (error: RouteError, retryElsewhere: boolean, consumed: ReportedUsage = unreported): Judged => ({
  verdict: error._tag === "UpstreamFailed" ? "failed" : "served",
  result: Effect.fail({ error, retryElsewhere, consumed })
})

const judgeRefusal = (
  names: ProviderNames,
  { status, retryAfter, body }: ExchangeResult & { readonly _tag: "Refusal" }
): Judged => {
  const policy = policyViolation(status, parseProviderError(body), names)
  if (policy !== undefined) return served({ _tag: "Declined", error: policy })
  const error = refusalOfStatus(status, retryAfter, body, names)
  return { verdict: verdictOf(status, error), result: Effect.fail(refusedAttempt(error)) }
}

/**
 * Judges a 2xx response. The provider may have billed the request, so no other route is tried. A refusal because of a
 * rate limit is the only exception, because providers do not bill it.
 */
const judgeResponse = (
  names: ProviderNames,
  { response }: ExchangeResult & { readonly _tag: "Response" },
  createdAtSeconds: number
): Effect.Effect<Judged> =>
  Effect.suspend(() => {
    const parsed = parseAroundImage(response)
    if (parsed === undefined)
      return Effect.succeed(
        failed(new UpstreamFailed({ cause: "the response is not a JSON object, or is too large" }), false)
      )
    const policy = policyViolation(200, providerErrorOf(parsed.members), names) ?? moderation(parsed.members)
    if (policy !== undefined) return Effect.succeed(served({ _tag: "Declined", error: policy }))
    const usage = usageOf(parsed.members.usage)
    const refusal = refusalIn(withoutEmptyError(parsed.members))
    if (refusal !== undefined) return Effect.succeed(failed(refusal, refusal._tag === "TechnicalLimit", usage))
    return Effect.match(responseBody(response, parsed, createdAtSeconds), {
      onSuccess: served,
      onFailure: (error) => failed(error, false, usage)
    })
  })

/**
 * Logs the cause of an `UpstreamFailed` error for operators, because the error that the client gets does not contain
 * it.
 */
const report = (
  context: ImageAttemptContext,
  { provider, route }: Candidate,
  status: number | undefined,
  error: RouteError
) =>
  error._tag === "UpstreamFailed"
    ? Effect.logWarning("upstream request failed", {
        request_id: context.requestId,
        provider: provider.name,
        upstream_model: route.upstreamModel,
        status,
        cause: error.cause
      })
    : Effect.void

/**
 * Matches the error codes of a policy violation. The error message is not searched, because it may quote the prompt.
 * OpenAI's type `image_generation_user_error` is not matched, because errors about invalid members and about the
 * billing limit of the gateway's account have the same type.
 */
const POLICY_CODE =
  /^(?:content_?policy(?:_?violation)?|content_?filter(?:ed)?|content_?moderation|moderation(?:_?blocked)?|(?:image_?|prompt_?)?safety(?:_\w+)?|blocked_?by_?safety\w*|prompt_?blocked|responsible_?ai_?policy_?violation|sensitive_?content(?:_?detected)?|nsfw\w*)$/i

/** The statuses with which providers report a policy violation. */
const POLICY_STATUSES: ReadonlySet<number> = new Set([200, 400, 403, 422])

const POLICY_MESSAGE = "The prompt or the image was declined by the model's content policy. Change it and try again."

const policyViolation = (
  status: number,
  error: ProviderError,
  names: ProviderNames
): ContentPolicyViolation | undefined =>
  POLICY_STATUSES.has(status) && error.codes.some((code) => POLICY_CODE.test(code))
    ? new ContentPolicyViolation({ message: redactedText(error.message, names) ?? POLICY_MESSAGE })
    : undefined

/** Returns the violation if the provider reports that the generated image did not pass its moderation. */
const moderation = ({ data }: JsonObject): ContentPolicyViolation | undefined =>
  asObject(asArray(data)[0])?.respect_moderation === false
    ? new ContentPolicyViolation({ message: POLICY_MESSAGE })
    : undefined
