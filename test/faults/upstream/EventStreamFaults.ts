/**
 * Lists upstream faults in streams of the messages and responses protocols. A stream that breaks before it is complete
 * causes an error. An unusual stream is accepted. A word is the text of one content event.
 */
import { frameOf, sent, type WireEvent } from "../../support/upstream/MessagesWire.ts"
import {
  again,
  bytes,
  cut,
  done,
  inPieces,
  json,
  reset,
  type Step,
  script,
  stall,
  text
} from "../../support/upstream/Script.ts"
import type { EventWire } from "./EventWire.ts"
import {
  brokenAfter,
  type DeliveredEvents,
  type ExpectedResult,
  type Fault,
  failure,
  refusal,
  streamFault,
  type UpstreamScript
} from "./Fault.ts"
import { identifyingError, identifyingMembers } from "./IdentifyingData.ts"

const MIB = 1024 * 1024
export const HELLO = " hello"
export const DELIVERED_TEXT = HELLO.repeat(3)
const WORDS = ["Grüße", ", 世界 ", "👩‍🚀", "e\u0301"]

export const textOf = (events: ReadonlyArray<WireEvent>): string => events.map(frameOf).join("")
export const goodEvents = (wire: EventWire) => wire.events([HELLO, HELLO, HELLO], wire.usage(7, 3))

/** Returns the events before the first word, and the events up to and including the first word. */
const beginning = (wire: EventWire) => {
  const events = goodEvents(wire)
  const first = events.findIndex(wire.isWord)
  return { silent: events.slice(0, first), spoken: events.slice(0, first + 1) }
}

const withoutContent = (
  upstream: string,
  upstreamScript: UpstreamScript,
  expected: ExpectedResult = failure,
  timeouts: object = {}
): Fault => streamFault(upstream, upstreamScript, expected, "nothing", timeouts)

/** Faults before any event is relayed, so the gateway can still send an error status. */
const brokenBeforeContent = (wire: EventWire): ReadonlyArray<Fault> => [
  withoutContent("sends an empty body", []),
  withoutContent("sends only the final event of another protocol", [done]),
  withoutContent("sends only a ping", [sent({ type: "ping" })]),
  withoutContent("closes the connection after the head", [cut]),
  withoutContent("resets the connection after the head", [bytes(": hi\n\n"), reset]),
  withoutContent("sends an HTML page", text("<html>\n\ndata: kwyjibo\n\n</html>", "text/html")),
  withoutContent("sends invalid JSON", text("{", "application/json")),
  withoutContent("sends an empty body with the content type of JSON", text("", "application/json")),
  withoutContent("sends status 200 with a JSON error", json(identifyingError)),
  withoutContent("sends an empty JSON object", json({})),
  ...Object.entries(wire.failures).map(([name, event]) => withoutContent(`begins with ${name}`, [sent(event), stall])),
  withoutContent("begins with an unnamed error event", [bytes(`data: ${JSON.stringify(identifyingError)}\n\n`), stall]),
  withoutContent("begins with a rate limit error", [sent(wire.limit)], refusal(429, "technical_limit", "5")),
  withoutContent(
    "sends a compressed body",
    script({ headers: { "content-encoding": "br" }, steps: goodEvents(wire).map(sent) })
  ),
  withoutContent("begins with invalid frames", [bytes("data: {kwyjibo\n\n"), stall]),
  withoutContent("begins with an endless line", [bytes("data: "), again(bytes("x".repeat(MIB)))]),
  withoutContent("sends comments forever", [again(bytes(": thinking\n\n"), 40)], failure, { idle_ms: 300 }),
  withoutContent("sends pings forever", [again(sent({ type: "ping" }), 40)], failure, { total_ms: 300 })
]

const broken = (wire: EventWire): ReadonlyArray<Fault> => {
  const { silent, spoken } = beginning(wire)
  const [begun, hello] = [silent.map(sent), spoken.map(sent)]
  const after = (upstream: string, rest: ReadonlyArray<Step>, timeouts: object = {}): Fault =>
    streamFault(upstream, [...hello, ...rest], brokenAfter(HELLO), wire.chargeWhenCut, timeouts)
  const soon = { idle_ms: 300 }
  return [
    streamFault("closes the connection before any content", [...begun, cut], brokenAfter(""), "nothing"),
    streamFault("stalls before any content", [...begun, stall], brokenAfter(""), "nothing", soon),
    after("closes the connection after a word", [cut]),
    after("ends the stream after a word", []),
    after("ends the stream inside a frame", [bytes(`event: kwyjibo\ndata: {"type":"resp`)]),
    ...resetAfterEachEvent(wire),
    after("stalls after a word", [stall], soon),
    after("sends only comments after a word", [again(bytes(": thinking\n\n"), 40)], soon),
    after("sends an incomplete frame slowly forever", [bytes("data: "), again(bytes("x"), 40)], soon),
    streamFault(
      "streams until the total timeout",
      [...hello, again(sent(spoken.at(-1) ?? { type: "" }), 40)],
      brokenAfter(undefined),
      wire.chargeWhenCut,
      { total_ms: 600 }
    ),
    after("sends an invalid frame after a word", [bytes("data: kwyjibo\n\n"), stall]),
    after("sends a JSON array after a word", [bytes("data: []\n\n"), stall]),
    after("sends an endless line after a word", [again(bytes("x".repeat(MIB)))]),
    after("sends an endless event after a word", [again(bytes(`data: ${"x".repeat(MIB)}\n`))]),
    ...Object.entries(wire.failures).map(([name, event]) => after(`sends ${name} after a word`, [sent(event), stall])),
    after("sends an error and then continues", [
      sent({ type: "error", ...identifyingError }),
      ...goodEvents(wire).map(sent)
    ]),
    after("sends an unnamed error event", [bytes(`data: ${JSON.stringify(identifyingError)}\n\n`), stall]),
    after("sends an error that is a string", [bytes('data: {"error":"kwyjibo"}\n\n'), stall]),
    after("sends an event named error without error data", [
      bytes('event: error\ndata: {"message":"kwyjibo"}\n\n'),
      stall
    ]),
    streamFault(
      "sends a rate limit error after a word",
      [...hello, sent(wire.limit), stall],
      brokenAfter(HELLO, "technical_limit"),
      wire.chargeWhenCut
    ),
    after("ends with the final event of another protocol", [done]),
    streamFault(
      "sends less than the announced length",
      script({ framing: "length", length: 10_000, steps: [bytes(textOf(spoken)), cut] }),
      brokenAfter(HELLO),
      wire.chargeWhenCut
    )
  ]
}

/** The connection breaks when the client has received the event. A break after the last event has no effect. */
const resetAfterEachEvent = (wire: EventWire): ReadonlyArray<Fault> => {
  const events = goodEvents(wire)
  return events.map(({ type }, i) => {
    const passed = events.slice(0, i + 1)
    const words = HELLO.repeat(passed.filter(wire.isWord).length)
    const upstreamScript = (delivered: DeliveredEvents) => [...passed.map(sent), delivered.atLeast(i + 1), reset]
    const upstream = `resets the connection after event ${i + 1}, ${type}`
    return i === events.length - 1
      ? streamFault(upstream, upstreamScript, { kind: "complete", text: words }, [7, 3])
      : streamFault(upstream, upstreamScript, brokenAfter(words), words === "" ? "nothing" : wire.chargeWhenCut)
  })
}

const unusual = (upstream: string, upstreamScript: UpstreamScript, content = DELIVERED_TEXT): Fault =>
  streamFault(upstream, upstreamScript, { kind: "complete", text: content }, [7, 3])

/** Sends the events with words byte by byte, and the other events in pieces of 29 bytes, which is faster. */
const byteByByte = (wire: EventWire): ReadonlyArray<Step> =>
  wire.events(WORDS, wire.usage(7, 3)).map((event) => inPieces(wire.isWord(event) ? 1 : 29, frameOf(event)))

const oddStreams = (wire: EventWire): ReadonlyArray<Fault> => {
  const events = goodEvents(wire)
  const whole = textOf(events)
  const steps = events.map(sent)
  const ping = frameOf({ type: "ping" })
  const long = "x".repeat(MIB)
  return [
    unusual("streams byte by byte", byteByByte(wire), WORDS.join("")),
    unusual("streams in one piece", [bytes(whole)]),
    unusual("sends a word of 1 MiB", wire.events([long], wire.usage(7, 3)).map(sent), long),
    unusual("ends lines with CRLF", [bytes(whole.replaceAll("\n", "\r\n"))]),
    unusual("ends lines with CR", [bytes(whole.replaceAll("\n", "\r"))]),
    unusual("begins with a byte order mark", [bytes("\ufeff"), bytes(whole)]),
    unusual("omits the spaces after colons", [bytes(whole.replaceAll(/^(event|data): /gm, "$1:"))]),
    unusual("splits its data over several lines", [bytes(whole.replaceAll(',"', ',\ndata: "'))]),
    unusual("adds ids to its events", [bytes(whole.replaceAll("event: ", "id: 1\nretry: 9\nevent: "))]),
    unusual("sends no event names", [bytes(whole.replaceAll(/^event: .*\n/gm, ""))]),
    unusual("sends event names only in the event field, not in the data", [
      bytes(whole.replaceAll(/^data: \{"type":"[^"]*",?/gm, "data: {"))
    ]),
    unusual("sends comments between its events", [bytes(whole.replaceAll("\n\n", "\n\n: OPENROUTER PROCESSING\n\n"))]),
    unusual("omits the last empty line", [bytes(whole.trimEnd())]),
    unusual("sends pings", [bytes(ping + whole.replaceAll("\n\n", `\n\n${ping}`))]),
    unusual("sends unknown events", [
      bytes(whole.replaceAll("\n\n", '\n\nevent: kwyjibo\ndata: {"type":"kwyjibo"}\n\n'))
    ]),
    unusual("sends another content type", script({ headers: { "content-type": "text/plain" }, steps })),
    unusual("marks the end of the stream by closing the connection", script({ framing: "until close", steps })),
    unusual("announces a content length", text(whole, "text/event-stream")),
    unusual("sends a whole response", json(wire.whole(DELIVERED_TEXT, wire.usage(7, 3)))),
    unusual("ends with the final event of another protocol", [...steps, done]),
    unusual("continues after the final event", [...steps, ...steps, sent({ type: "error", ...identifyingError })]),
    unusual("keeps the connection open after the final event", [...steps, stall]),
    unusual("closes the connection after the final event", [...steps, cut]),
    streamFault(
      "reports no usage",
      wire.events([HELLO, HELLO, HELLO]).map(sent),
      { kind: "complete", text: DELIVERED_TEXT, ...wire.usageUnreported },
      "delivered content"
    ),
    streamFault(
      "reports zero usage",
      wire.events([HELLO, HELLO, HELLO], wire.usage(0, 0)).map(sent),
      { kind: "complete", text: DELIVERED_TEXT },
      [0, 0]
    ),
    unusual("sends no content but reports usage", wire.events([], wire.usage(7, 3)).map(sent), ""),
    unusual(
      "reveals its name and its cost",
      events.map((event) => sent({ ...event, ...identifyingMembers, type: event.type }))
    )
  ]
}

export const eventStreamFaults = (wire: EventWire): ReadonlyArray<Fault> => [
  ...brokenBeforeContent(wire),
  ...broken(wire),
  ...oddStreams(wire)
]
