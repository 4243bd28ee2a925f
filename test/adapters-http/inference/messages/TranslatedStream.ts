/** `translatedStream` translates a provider's bytes with the decoder and translator of the relay. */

import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import type { MessagesRequest } from "@tollgate/adapters-http/inference/messages/MessagesRequest"
import type { Translation } from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { SseDecoder } from "@tollgate/adapters-http/wire/SseDecoder"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Either } from "effect"
import { frameOf, type WireEvent } from "../../../support/upstream/MessagesWire.ts"

export const context = { requestId: RequestId("ours"), publicName: "public-model", createdAtSeconds: 1_790_000_000 }

export const requestOf = (members: object = {}): MessagesRequest =>
  Either.getOrThrow(
    runSlices(
      messagesProtocol.read(
        Buffer.from(
          JSON.stringify({
            model: "public-model",
            max_tokens: 100,
            messages: [{ role: "user", content: "hi" }],
            ...members
          })
        )
      )
    )
  )

export const streamed = requestOf({ stream: true })

export interface TranslatedStream {
  /** The written frames, as text. */
  readonly text: string
  readonly content: string
  readonly usage: ReportedUsage.ReportedUsage
  /** `complete`, or the tag of the error that ended the stream. */
  readonly end: string
}

export const translatedStream = (chunks: ReadonlyArray<Buffer>): TranslatedStream => {
  const decoder = new SseDecoder()
  const translator = messagesProtocol.stream.translator(streamed, context)
  let text = ""
  let content = ""
  let usage = ReportedUsage.unreported
  let end: string | undefined
  const add = (translation: Translation) => {
    text += translation.frames
    content += translation.content
    if (translation.usage !== undefined) usage = ReportedUsage.merge(usage, translation.usage)
    if (translation.end !== undefined) end ??= translation.end === "complete" ? "complete" : translation.end._tag
  }
  for (const chunk of chunks) {
    const decoded = decoder.push(chunk)
    if (Either.isLeft(decoded)) return { text, content, usage, end: decoded.left._tag }
    for (const event of decoded.right) add(translator.translate(event))
  }
  for (const event of decoder.end()) add(translator.translate(event))
  add(translator.close())
  return { text, content, usage, end: end ?? "open" }
}

/** Returns all results in one string, for comparisons. */
export const traceOf = ({ text, content, usage, end }: TranslatedStream): string =>
  `${text}|${content}|${Object.values(usage.prompt ?? {}).join()}|${usage.output}|${end}`

export const sse = (...events: ReadonlyArray<WireEvent>): string => events.map(frameOf).join("")

/** Returns the events in the frames. Fails unless each frame has an `event:` and a `data:` line of the same type. */
export const eventsOf = (text: string): ReadonlyArray<WireEvent> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [, name, data = ""] = /^event: (\w+)\ndata: (\{[^\n]*\})$/.exec(frame) ?? []
      const event: WireEvent = JSON.parse(data)
      if (event.type !== name)
        throw new Error(`the frame does not have an event line and a data line of the same type: ${frame}`)
      return event
    })
