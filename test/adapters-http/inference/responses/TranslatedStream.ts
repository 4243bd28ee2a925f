/** `translatedStream` translates a provider's bytes with the decoder and translator of the relay. */

import type { Translation } from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import type { ResponsesRequest } from "@tollgate/adapters-http/inference/responses/ResponsesRequest"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { SseDecoder, type SseEvent } from "@tollgate/adapters-http/wire/SseDecoder"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Either } from "effect"

export const context = { requestId: RequestId("ours"), publicName: "public-model", createdAtSeconds: 1_790_000_000 }
export const REQUEST_ID = "request-1"

export const requestOf = (members: object = {}): ResponsesRequest =>
  Either.getOrThrow(
    runSlices(responsesProtocol.read(Buffer.from(JSON.stringify({ model: "public-model", input: "hi", ...members }))))
  )

export interface TranslatedStream {
  /** The written frames as text, including the frames that report a failure at the end. */
  readonly text: string
  /** The written frames as text, without the frames that report a failure. */
  readonly before: string
  readonly events: ReadonlyArray<JsonObject>
  readonly content: string
  readonly usage: ReportedUsage.ReportedUsage
  /** `complete`, or the tag of the error that ended the stream. */
  readonly end: string
}

export const translatedStream = (bytes: string | Buffer): TranslatedStream => {
  const decoder = new SseDecoder()
  const translator = responsesProtocol.stream.translator(requestOf({ stream: true }), context)
  let before = ""
  let content = ""
  let usage = ReportedUsage.unreported
  let end: Translation["end"]
  const add = (translation: Translation) => {
    if (end !== undefined) return
    before += translation.frames
    content += translation.content
    if (translation.usage !== undefined) usage = ReportedUsage.merge(usage, translation.usage)
    end = translation.end
  }
  const each = (events: ReadonlyArray<SseEvent>) => {
    for (const event of events) add(translator.translate(event))
  }
  each(Either.getOrThrow(decoder.push(Buffer.from(bytes))))
  each(decoder.end())
  add(translator.close())
  if (end === undefined) throw new Error("the stream did not end")
  const text = end === "complete" ? before : before + translator.fail?.(end, REQUEST_ID, false)
  return { text, before, events: eventsOf(text), content, usage, end: end === "complete" ? end : end._tag }
}

/** Returns the events in the frames. Fails unless each frame has an `event:` and a `data:` line of the same type. */
export const eventsOf = (text: string): ReadonlyArray<JsonObject> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((frame) => {
      const [, name, data] = /^event: ([\w.-]+)\ndata: ([^\n]*)$/.exec(frame) ?? []
      if (name === undefined || data === undefined)
        throw new Error(`the frame does not have one event line and one data line: ${frame}`)
      const event = JSON.parse(data)
      if (event.type !== name) throw new Error(`the type in the data differs from the event line: ${frame}`)
      return event
    })

export const typesOf = (events: ReadonlyArray<JsonObject>): ReadonlyArray<unknown> => events.map(({ type }) => type)
