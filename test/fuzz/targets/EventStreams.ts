/**
 * The target of the decoder of server-sent events. For any division of the body into chunks, the decoder must return
 * the events that `eventsource-parser` returns, with one intended difference: if the blank line after the last event is
 * missing, the decoder returns the event if its data is complete, and `eventsource-parser` drops it.
 */
import { SseDecoder, type SseEvent } from "@tollgate/adapters-http/wire/SseDecoder"
import { FastCheck } from "effect"
import { createParser } from "eventsource-parser"
import { piecesOf } from "../Mutation.ts"
import { type FuzzTarget, mustEqual, pure } from "../Target.ts"
import { jsonText } from "./JsonText.ts"

export type DecodeEvents = (pieces: ReadonlyArray<Buffer>) => ReadonlyArray<SseEvent>

export const decodeEvents: DecodeEvents = (pieces) => {
  const decoder = new SseDecoder()
  const events: Array<SseEvent> = []
  for (const piece of pieces) {
    const decoded = decoder.push(piece)
    if (decoded._tag === "Left") throw new Error(decoded.left.cause)
    events.push(...decoded.right)
  }
  return [...events, ...decoder.end()]
}

export const referenceEvents = (text: string): ReadonlyArray<SseEvent> => {
  const events: Array<SseEvent> = []
  const parser = createParser({ onEvent: ({ event = "", data }) => events.push({ event, data }) })
  parser.feed(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text)
  return events
}

const BYTE_ORDER_MARK = 0xfeff

const isComplete = ({ data }: SseEvent): boolean => {
  if (data === "[DONE]") return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}

const check =
  (decode: DecodeEvents) =>
  (input: Buffer): void => {
    const text = input.toString()
    // After a carriage return at the end of the text, `eventsource-parser` still waits for a line feed.
    const ended = referenceEvents(text.endsWith("\r") ? `${text}\n` : text)
    const unfinished = referenceEvents(`${text}\n\n`).slice(ended.length)
    const expected = [...ended, ...unfinished.filter(isComplete)]
    mustEqual(decode(input.length === 0 ? [] : [input]), expected, "the events of one chunk")
    for (const variant of [0, 1, 2])
      mustEqual(decode(piecesOf(input, variant)), expected, "the events of several chunks")
  }

const line = FastCheck.oneof(
  FastCheck.tuple(FastCheck.constantFrom("data: ", "data:", "data:  "), jsonText).map((parts) => parts.join("")),
  FastCheck.fullUnicodeString({ maxLength: 10 }).map((text) => `data: ${text}`),
  FastCheck.constantFrom(
    "",
    "",
    "",
    "data: [DONE]",
    "data",
    "datas: 1",
    "event: e",
    "event:",
    "event",
    ": c",
    "id: 1",
    "x"
  )
)
const end = FastCheck.oneof(
  { weight: 8, arbitrary: FastCheck.constant("\n") },
  { weight: 1, arbitrary: FastCheck.constantFrom("\r", "\r\n", "\n\n", "\r\n\r\n") }
)

export const eventStreamTarget = (decode: DecodeEvents): FuzzTarget => ({
  name: "event-streams",
  grammar: FastCheck.array(FastCheck.tuple(line, end), { maxLength: 12 }).map((lines) =>
    Buffer.from(lines.flat().join(""))
  ),
  words: [
    "data: ",
    "event: ",
    "\n\n",
    "\r\r",
    "\r\n\r\n",
    "\ufeff",
    "data: [DONE]",
    "retry: 1",
    ": comment\n",
    "data\n"
  ],
  testInputs: 250,
  open: pure(check(decode))
})
