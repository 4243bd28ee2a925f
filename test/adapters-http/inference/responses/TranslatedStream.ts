/**
 * Passes a provider's bytes through the decoder and the translator like the relay, and parses the resulting frames.
 */

import type { Translation } from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import type { ResponsesRequest } from "@tollgate/adapters-http/inference/responses/ResponsesRequest"
import { SseDecoder, type SseEvent } from "@tollgate/adapters-http/wire/SseDecoder"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Either } from "effect"

export const context = { requestId: RequestId("ours"), publicName: "public-model", createdAtSeconds: 1_790_000_000 }
export const REQUEST_ID = "request-1"

export const requestOf = (members: object = {}): ResponsesRequest =>
  Either.getOrThrow(
    responsesProtocol.read(Buffer.from(JSON.stringify({ model: "public-model", input: "hi", ...members })))
  )

export interface TranslatedStream {
  /** The written frames, including the frames of a failure at the end. */
  readonly text: string
  /** The written frames without the frames of a failure. */
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
  const take = (translation: Translation) => {
    if (end !== undefined) return
    before += translation.frames
    content += translation.content
    if (translation.usage !== undefined) usage = ReportedUsage.merge(usage, translation.usage)
    end = translation.end
  }
  const each = (events: ReadonlyArray<SseEvent>) => {
    for (const event of events) take(translator.translate(event))
  }
  each(Either.getOrThrow(decoder.push(Buffer.from(bytes))))
  each(decoder.end())
  take(translator.close())
  if (end === undefined) throw new Error("the stream did not end")
  const text = end === "complete" ? before : before + translator.fail?.(end, REQUEST_ID)
  return { text, before, events: eventsOf(text), content, usage, end: end === "complete" ? end : end._tag }
}

/** Returns the events of the frames; fails unless each frame has one `event:` and one `data:` line of the same type. */
export const eventsOf = (text: string): ReadonlyArray<JsonObject> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((frame) => {
      const [, name, data] = /^event: ([\w.-]+)\ndata: ([^\n]*)$/.exec(frame) ?? []
      if (name === undefined || data === undefined)
        throw new Error(`a frame without one event line and one data line: ${frame}`)
      const event = JSON.parse(data)
      if (event.type !== name) throw new Error(`an event of two names: ${frame}`)
      return event
    })

export const typesOf = (events: ReadonlyArray<JsonObject>): ReadonlyArray<unknown> => events.map(({ type }) => type)
