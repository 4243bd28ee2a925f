/**
 * A whole chat completion, rewritten for the client, or told as the stream it asked for.
 */

import { contentOf } from "@tollgate/domain/inference/ChatDelivered"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Either from "effect/Either"
import { refusalIn, refusalOfError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { cleanMessage } from "./ChatDelta.ts"
import { ChatStream, chatIdOf } from "./ChatStream.ts"
import { ChatUsage } from "./ChatUsage.ts"
import { finishReasonOf } from "./FinishReason.ts"

export const chatAnswer = (
  { requestId, publicName, createdAtSeconds }: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromCompletion(body, (completion) => {
    const usage = new ChatUsage()
    const reported = usage.see(completion)
    const answer = {
      id: chatIdOf(requestId),
      object: "chat.completion",
      created: createdAtSeconds,
      model: publicName,
      choices: choicesOf(completion).map(cleanChoice),
      usage: usage.member
    }
    return Either.right({ body: JSON.stringify(answer), content: contentOf(answer), usage: reported })
  })

/** Every message becomes one delta. */
export const chatAnswerAsStream = (
  includeUsage: boolean,
  context: ResponseContext,
  body: Buffer
): Either.Either<Translation, ResponseFailure> =>
  fromCompletion(body, (completion) => {
    const stream = new ChatStream(includeUsage, context)
    const choices = choicesOf(completion).map((choice) => ({ ...choice, delta: choice.message }))
    const said = stream.chunk({ ...completion, choices })
    const finish = said.end === undefined ? stream.finish() : said
    return finish.end === "complete"
      ? Either.right({ ...said, frames: said.frames + finish.frames, end: "complete" })
      : Either.left(finish.end ?? noCompletion("an answer that says nothing"))
  })

/** Every choice of a completion has a message, and none has failed. */
const fromCompletion = <A>(
  body: Buffer,
  rewrite: (completion: JsonObject) => Either.Either<A, ResponseFailure>
): Either.Either<A, ResponseFailure> => {
  try {
    const completion = asObject(JSON.parse(body.toString()))
    if (completion === undefined) return Either.left(noCompletion("an answer that is no JSON object"))
    const choices = choicesOf(completion)
    const broken = refusalIn(completion) ?? firstBreak(choices)
    if (broken !== undefined) return Either.left(broken)
    return choices.length > 0 && choices.every(({ message }) => asObject(message) !== undefined)
      ? rewrite(completion)
      : Either.left(noCompletion("an answer without messages"))
  } catch {
    return Either.left(noCompletion("an answer that is no JSON"))
  }
}

const choicesOf = ({ choices }: JsonObject): ReadonlyArray<JsonObject> =>
  asArray(choices).map((choice) => asObject(choice) ?? {})

const firstBreak = (choices: ReadonlyArray<JsonObject>): ResponseFailure | undefined => {
  const failed = choices.find((choice) => finishReasonOf(choice.finish_reason) === "error")
  return failed && (refusalIn(failed) ?? refusalOfError(undefined))
}

const cleanChoice = (choice: JsonObject, position: number): JsonObject => {
  const message = cleanMessage(asObject(choice.message) ?? {})
  return {
    index: Number.isInteger(choice.index) ? choice.index : position,
    message,
    logprobs: choice.logprobs ?? undefined,
    finish_reason:
      finishReasonOf(choice.finish_reason) ?? (asArray(message.tool_calls).length > 0 ? "tool_calls" : "stop")
  }
}

const noCompletion = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
