/** `translatedStream` translates a provider's bytes with the decoder and translator of the relay. */

import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import type { ChatRequest } from "@tollgate/adapters-http/inference/chat/ChatRequest"
import type { Translation } from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { SseDecoder } from "@tollgate/adapters-http/wire/SseDecoder"
import { DeliveredText } from "@tollgate/application/inference/DeliveredText"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Either } from "effect"

export const context = { requestId: RequestId("ours"), publicName: "public-model", createdAtSeconds: 1_790_000_000 }

export const requestOf = (members: object): ChatRequest =>
  Either.getOrThrow(
    runSlices(
      chatProtocol.read(
        Buffer.from(JSON.stringify({ model: "public-model", messages: [{ role: "user", content: "hi" }], ...members }))
      )
    )
  )

export const streamed = (includeUsage?: boolean | null): ChatRequest =>
  requestOf({
    stream: true,
    ...(includeUsage === undefined ? {} : { stream_options: { include_usage: includeUsage } })
  })

export interface TranslatedStream {
  /** The written frames, as text. */
  readonly text: string
  /** The parsed `data` of each frame. The end mark is the string `[DONE]`. */
  readonly frames: ReadonlyArray<unknown>
  readonly content: string
  /** The content of each choice that has content. */
  readonly texts: ReadonlyArray<string>
  readonly usage: ReportedUsage.ReportedUsage
  /** All results in one string, for comparisons. */
  readonly trace: string
  /** `complete`, or the tag of the error that ended the stream. */
  readonly end: string
}

export const translatedStream = (chunks: ReadonlyArray<Buffer>, includeUsage?: boolean | null): TranslatedStream => {
  const decoder = new SseDecoder()
  const translator = chatProtocol.stream.translator(streamed(includeUsage), context)
  let text = ""
  let content = ""
  const delivered = new DeliveredText()
  let usage = ReportedUsage.unreported
  let end: string | undefined
  const resultSoFar = (end: string) => {
    delivered.markDelivered(delivered.sentCharacters, delivered.sentDeltas)
    return resultOf(text, content, delivered.texts, usage, end)
  }
  const add = (translation: Translation) => {
    text += translation.frames
    content += translation.content
    delivered.append(translation.content, translation.switches)
    if (translation.usage !== undefined) usage = ReportedUsage.merge(usage, translation.usage)
    if (translation.end !== undefined) end ??= translation.end === "complete" ? "complete" : translation.end._tag
  }
  for (const chunk of chunks) {
    const decoded = decoder.push(chunk)
    if (Either.isLeft(decoded)) return resultSoFar(decoded.left._tag)
    for (const event of decoded.right) add(translator.translate(event))
  }
  for (const event of decoder.end()) add(translator.translate(event))
  add(translator.close())
  return resultSoFar(end ?? "open")
}

const resultOf = (
  text: string,
  content: string,
  texts: ReadonlyArray<string>,
  usage: ReportedUsage.ReportedUsage,
  end: string
): TranslatedStream => ({
  text,
  content,
  texts,
  usage,
  end,
  trace: `${text}|${content}|${Object.values(usage.prompt ?? {}).join()}|${usage.output}|${end}`,
  get frames() {
    return framesOf(text)
  }
})

export const framesOf = (text: string): ReadonlyArray<unknown> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const data = frame.replace(/^data: /, "")
      return data === "[DONE]" ? data : JSON.parse(data)
    })

/** Returns frames as a provider writes them: objects as JSON, strings unchanged. */
export const sse = (...frames: ReadonlyArray<object | string>): string =>
  frames.map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`).join("")

const common = {
  id: "chatcmpl-ours",
  object: "chat.completion.chunk",
  created: context.createdAtSeconds,
  model: context.publicName
}
export const deltaChunk = (delta: object, index = 0, more: object = {}) => ({
  ...common,
  choices: [{ index, delta, finish_reason: null, ...more }]
})
export const finished = (reason: string, index = 0, more: object = {}) => ({
  ...common,
  choices: [{ index, delta: {}, finish_reason: reason, ...more }]
})
export const usageFrame = (prompt: number, completion: number, more: object = {}) => ({
  ...common,
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more }
})
