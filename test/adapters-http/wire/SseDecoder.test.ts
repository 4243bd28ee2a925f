import { isHeartbeat, MAX_EVENT_BYTES, SseDecoder, type SseEvent } from "@tollgate/adapters-http/wire/SseDecoder"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { heartbeats } from "../../support/upstream/Heartbeats.ts"

const decoded = (...pieces: ReadonlyArray<Buffer | string>): ReadonlyArray<SseEvent> => {
  const decoder = new SseDecoder()
  const events = pieces.flatMap((piece) => Either.getOrThrow(decoder.push(Buffer.from(piece))))
  return [...events, ...decoder.end()]
}
const data = (...values: ReadonlyArray<string>) => values.map((value) => ({ event: "", data: value }))

describe("an event stream", () => {
  it.each<[string, string, ReadonlyArray<SseEvent>]>([
    ["an event", "data: a\n\n", data("a")],
    ["two events in one text", "data: a\n\ndata: b\n\n", data("a", "b")],
    ["an event with a name", "event: ping\ndata: a\n\n", [{ event: "ping", data: "a" }]],
    ["a name applies to one event only", "event: x\ndata: a\n\ndata: b\n\n", [{ event: "x", data: "a" }, ...data("b")]],
    ["a name without data gives no event", "event: x\n\ndata: a\n\n", data("a")],
    ["lines of data are joined", "data: a\ndata: b\ndata\n\n", data("a\nb\n")],
    ["one space before the value is removed", "data:  a \n\ndata:b\n\n", data(" a ", "b")],
    [
      "comments, ids, retry times and unknown fields are dropped",
      ": x\nid: 1\nretry: 2\ndatas: 3\nx\ndata: a\n\n:\n\n",
      data("a")
    ],
    ["lines that end in CR, LF or both", "data: a\r\rdata: b\r\n\r\ndata: c\n\n", data("a", "b", "c")],
    ["only the first byte order mark is dropped", "\ufeffdata: a\n\n\ufeffdata: b\n\n", data("a")],
    ["a line separator character inside data is kept", "data: a\u2028b\n\n", data("a\u2028b")],
    ["empty data", "data:\n\n", data("")],
    ["an empty text gives no events", "", []]
  ])("is decoded correctly: %s", (_, text, events) => {
    expect(decoded(text)).toEqual(events)
  })

  it.each<[string, string, ReadonlyArray<SseEvent>]>([
    ["returned if its JSON is complete", 'data: {"a":1}', data('{"a":1}')],
    ["returned if only the blank line is missing", 'data: {"a":1}\n', data('{"a":1}')],
    ["returned if it contains the end mark", "data: [DONE]", data("[DONE]")],
    ["returned if it is the whole body after a byte order mark", '\ufeffdata: {"a":1}', data('{"a":1}')],
    ["dropped if its JSON is incomplete", 'data: {"a":{"b":1}', []],
    ["dropped if the end mark is incomplete", "data: [DON", []],
    ["dropped if the field name is incomplete", "data: a\n\nda", data("a")]
  ])("that ends inside an event: the event is %s", (_, text, events) => {
    expect(decoded(text)).toEqual(events)
  })

  const line = FastCheck.oneof(
    FastCheck.fullUnicodeString().map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
    FastCheck.constantFrom("", "", "data: {}", "data:x", "event: e", ": c", "id: 1", "retry: 5", "nonsense")
  )
  const body = FastCheck.array(FastCheck.tuple(line, FastCheck.constantFrom("\n", "\r", "\r\n"))).map((lines) =>
    Buffer.from(lines.map(([text, end]) => text + end).join(""))
  )
  const cuts = FastCheck.array(FastCheck.nat(), { maxLength: 5 })
  property(
    "is decoded to the same events for random chunk boundaries",
    [body, cuts],
    (bytes, at) => {
      const sorted = [...at.map((n) => n % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
      const pieces = sorted.map((end, i) => bytes.subarray(i === 0 ? 0 : sorted[i - 1], end))
      return JSON.stringify(decoded(...pieces)) === JSON.stringify(decoded(bytes))
    },
    2_000
  )

  it("keeps the lines of an event from an earlier chunk", () => {
    const pieces = ["data: a\n\n", "event: x\n", "data: b\n\n", "data: c\n", "data: d\n\n", "data: e\r", "data: f\n\n"]
    expect(decoded(...pieces)).toEqual([...data("a"), { event: "x", data: "b" }, ...data("c\nd", "e\nf")])
  })

  it.each<[string, ReadonlyArray<string>]>([
    ["a line that does not end", Array(9).fill("x".repeat(1024 * 1024))],
    ["a line that is too long", [`data: ${"x".repeat(MAX_EVENT_BYTES)}x\n\n`]],
    ["an event that is too long, in many lines", Array(10_000).fill(`data: ${"x".repeat(1024)}\n`)]
  ])("with %s is a failure of the provider", (_, pieces) => {
    const decoder = new SseDecoder()
    const failed = pieces.map((piece) => decoder.push(Buffer.from(piece))).find(Either.isLeft)
    expect(failed).toMatchObject({ left: { _tag: "UpstreamFailed" } })
  })

  it.each<[string, string, number]>([
    ["many empty lines of data", "data:\n".repeat(1_000), 32_000],
    ["comments between its lines of data", `: ${"x".repeat(10_000)}\ndata: a text that is no copy\n`, 10_000]
  ])("counts the memory of an incomplete event with %s", (_, lines, bytes) => {
    const decoder = new SseDecoder()
    for (let i = 0; i < 10; i++) decoder.push(Buffer.from(lines))
    expect(decoder.pendingBytes).toBeGreaterThan(10 * bytes)
    decoder.push(Buffer.from("\n"))
    expect(decoder.pendingBytes).toBe(0)
  })

  it("is decoded if a large event arrives in small chunks", () => {
    const decoder = new SseDecoder()
    const events: Array<SseEvent> = []
    const whole = Buffer.from(`data: ${"é".repeat(1_000_000)}\n\n`)
    for (let at = 0; at < whole.length; at += 101) {
      events.push(...Either.getOrThrow(decoder.push(whole.subarray(at, at + 101))))
    }
    expect(events.map(({ data }) => data === "é".repeat(1_000_000))).toEqual([true])
  })
})

describe("an event whose data is not a JSON object", () => {
  it.each([...decoded(heartbeats)])("is a heartbeat: %j", (event) => {
    expect(isHeartbeat(event)).toBe(true)
  })

  it.each([
    { event: "", data: "ping" },
    { event: "", data: '{"choices":[' },
    { event: "message", data: "ping" },
    { event: "content_block_delta", data: " " },
    { event: "error", data: " " }
  ])("is no heartbeat: %j", (event) => {
    expect(isHeartbeat(event)).toBe(false)
  })
})
