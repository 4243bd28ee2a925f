/**
 * A whole response, as a client may see it, or told as the stream it asked for.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import { contentOfEvent, contentOfResponse, usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import * as Either from "effect/Either"
import type { ResponseContext, ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { eventsOf } from "./ResponseEvents.ts"
import { frameOf } from "./ResponseFrame.ts"
import { cleanResponse } from "./ResponseObject.ts"
import { refusalInResponse } from "./ResponsesRefusal.ts"

export const responsesAnswer = (
  context: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromResponse(body, (given) => {
    const response = cleanResponse(given, context)
    return { body: JSON.stringify(response), content: contentOfResponse(response), usage: reportedIn(given) }
  })

export const responsesAnswerAsStream = (
  context: ResponseContext,
  body: Buffer
): Either.Either<Translation, ResponseFailure> =>
  fromResponse(body, (given) => {
    const events = eventsOf(cleanResponse(given, context))
    return {
      frames: events.map(frameOf).join(""),
      content: events.map(contentOfEvent).join(""),
      usage: reportedIn(given),
      end: "complete"
    }
  })

/** A response that has come to its end, one way or the other, but did not fail. */
const fromResponse = <A>(body: Buffer, rewrite: (response: JsonObject) => A): Either.Either<A, ResponseFailure> => {
  try {
    const response = asObject(JSON.parse(body.toString()))
    if (response === undefined) return Either.left(noResponse("an answer that is no JSON object"))
    const refusal = refusalInResponse(response)
    if (refusal !== undefined) return Either.left(refusal.error)
    if (!Array.isArray(response.output)) return Either.left(noResponse("an answer without output"))
    return response.status === "in_progress" || response.status === "queued"
      ? Either.left(noResponse("an answer that is not there yet"))
      : Either.right(rewrite(response))
  } catch {
    return Either.left(noResponse("an answer that is no JSON"))
  }
}

const reportedIn = (response: JsonObject): ReportedUsage | undefined => {
  const usage = usageOf(response.usage)
  return usage.prompt === undefined && usage.output === undefined ? undefined : usage
}

const noResponse = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
