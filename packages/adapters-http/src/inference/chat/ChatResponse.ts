/**
 * Rewrites a provider's whole chat completion (not a stream) for the client: as a JSON body, or as the
 * frames of a stream if the client requested a stream.
 */

import { contentOf } from "@tollgate/domain/inference/ChatDelivered"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Either from "effect/Either"
import { hasTooManyValues, parseResponse } from "../../wire/ParseResponse.ts"
import { refusalIn, refusalOfError, statesError, withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { finishReasonOf, normalizedMessage } from "./ChatChoice.ts"
import { splicedCompletion } from "./ChatCompletionBytes.ts"
import { ChatStream, completionIdOf } from "./ChatStream.ts"
import { ChatUsage } from "./ChatUsage.ts"

export const translatedResponse = (
  context: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> => {
  // The content of a spliced completion is parsed later if its tokens are counted locally.
  const spliced = hasTooManyValues(body) ? undefined : splicedCompletion(context, body)
  return spliced === undefined ? parsedCompletion(context, body) : Either.right(spliced)
}

/** Rewrites a completion by parsing it. Unlike {@link splicedCompletion}, it accepts completions with unusual parts. */
export const parsedCompletion = (
  { requestId, publicName, createdAtSeconds }: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromCompletion(body, (completion) => {
    const usage = new ChatUsage()
    const reported = usage.add(completion)
    const response = {
      id: completionIdOf(requestId),
      object: "chat.completion",
      created: createdAtSeconds,
      model: publicName,
      choices: choicesOf(completion).map(normalizedChoice),
      usage: usage.member
    }
    return Either.right({
      body: JSON.stringify(response),
      encoding: "utf8",
      content: () => contentOf(response),
      usage: reported
    })
  })

/** Translates a whole completion to the frames of a stream. The message of each choice becomes one chunk. */
export const responseAsStream = (
  includeUsage: boolean,
  context: ResponseContext,
  body: Buffer
): Either.Either<Translation, ResponseFailure> =>
  fromCompletion(body, (completion) => {
    const stream = new ChatStream(includeUsage, context)
    const choices = choicesOf(completion).map((choice) => ({ ...choice, delta: choice.message }))
    const content = stream.chunk({ ...completion, choices })
    const finish = content.end === undefined ? stream.finish() : content
    return finish.end === "complete"
      ? Either.right({ ...content, frames: content.frames + finish.frames, end: "complete" })
      : Either.left(finish.end ?? invalidCompletion("the completion has no content"))
  })

/**
 * Passes the completion to `rewrite`. Returns a failure instead if the body is not a JSON object or has too many
 * values, if the completion or one of its choices reports an error, if the completion has no choice, or if a choice has
 * no message.
 */
const fromCompletion = <A>(
  body: Buffer,
  rewrite: (completion: JsonObject) => Either.Either<A, ResponseFailure>
): Either.Either<A, ResponseFailure> => {
  try {
    const given = asObject(parseResponse(body))
    if (given === undefined) return Either.left(invalidCompletion("the response is not a JSON object"))
    const completion = withoutEmptyError(given)
    const choices = choicesOf(completion)
    const failure = refusalIn(completion) ?? failureIn(choices)
    if (failure !== undefined) return Either.left(failure)
    return choices.length > 0 && choices.every(({ message }) => asObject(message) !== undefined)
      ? rewrite(completion)
      : Either.left(invalidCompletion("the completion lacks a message"))
  } catch {
    return Either.left(invalidCompletion("the response is not valid JSON, or has too many values"))
  }
}

const choicesOf = ({ choices }: JsonObject): ReadonlyArray<JsonObject> =>
  asArray(choices).map((choice) => asObject(choice) ?? {})

const failureIn = (choices: ReadonlyArray<JsonObject>): ResponseFailure | undefined => {
  const failed = choices.find(
    ({ error, finish_reason }) => statesError(error) || finishReasonOf(finish_reason) === "error"
  )
  return failed && refusalOfError(failed.error)
}

const normalizedChoice = (choice: JsonObject, position: number): JsonObject => {
  const message = normalizedMessage(asObject(choice.message) ?? {})
  return {
    index: Number.isInteger(choice.index) ? choice.index : position,
    message,
    logprobs: choice.logprobs ?? undefined,
    finish_reason:
      finishReasonOf(choice.finish_reason) ?? (asArray(message.tool_calls).length > 0 ? "tool_calls" : "stop")
  }
}

const invalidCompletion = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
