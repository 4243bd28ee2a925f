/**
 * Rewrites a provider's whole response (not a stream) for the client: as a JSON body, or as the events
 * of a stream if the client requested a stream.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import { contentOfResponse, usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import * as Either from "effect/Either"
import { parseResponse } from "../../wire/ParseResponse.ts"
import { withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { refusalInResponse } from "./ResponsesErrors.ts"
import { eventsOf, frameOf } from "./ResponsesEvents.ts"
import { redactedResponse } from "./ResponsesRedaction.ts"

export const translatedResponse = (
  context: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromResponse(body, (given) => {
    const response = redactedResponse(given, context)
    return {
      body: JSON.stringify(response),
      encoding: "utf8",
      content: () => contentOfResponse(response),
      usage: reportedIn(given)
    }
  })

export const responseAsStream = (context: ResponseContext, body: Buffer): Either.Either<Translation, ResponseFailure> =>
  fromResponse(body, (given) => {
    const response = redactedResponse(given, context)
    return {
      frames: eventsOf(response).map(frameOf).join(""),
      // The last event contains the whole response, also content for which there is no delta.
      content: contentOfResponse(response),
      usage: reportedIn(given),
      end: "complete"
    }
  })

/** Rewrites a response that has ended as complete or incomplete. Refuses a failed or unfinished response. */
const fromResponse = <A>(body: Buffer, rewrite: (response: JsonObject) => A): Either.Either<A, ResponseFailure> => {
  try {
    const given = asObject(parseResponse(body))
    if (given === undefined) return Either.left(invalidResponse("the response is not a JSON object"))
    const response = withoutEmptyError(given)
    const refusal = refusalInResponse(response)
    if (refusal !== undefined) return Either.left(refusal.error)
    if (!Array.isArray(response.output)) return Either.left(invalidResponse("the response has no output"))
    return response.status === "in_progress" || response.status === "queued"
      ? Either.left(invalidResponse("the response has not ended"))
      : Either.right(rewrite(response))
  } catch {
    return Either.left(invalidResponse("the response is not valid JSON, or has too many values"))
  }
}

const reportedIn = (response: JsonObject): ReportedUsage | undefined => {
  const usage = usageOf(response.usage)
  return usage.prompt === undefined && usage.output === undefined ? undefined : usage
}

const invalidResponse = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
