/**
 * Faults in streams of a protocol with named events: broken and unusual ones.
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
  type Script,
  type Step,
  script,
  stall,
  text
} from "../../support/upstream/Script.ts"
import type { EventWire } from "./EventWire.ts"
import { type Audience, brokenAfter, type Due, type Fault, failure, refusal, type Told } from "./Fault.ts"
import { indiscretion, traces } from "./Telltales.ts"

export type Says = Script | ReadonlyArray<Step> | ((audience: Audience) => ReadonlyArray<Step>)

export const streamFault = (upstream: string, says: Says, told: Told, due: Due, timeouts: object = {}): Fault => ({
  upstream,
  asked: "stream",
  says: (audience) => {
    const said = typeof says === "function" ? says(audience) : says
    return "steps" in said ? said : script({ steps: said })
  },
  told,
  due,
  timeouts
})

const MIB = 1024 * 1024
export const HELLO = " hello"
export const SAID = HELLO.repeat(3)
const WORDS = ["Grüße", ", 世界 ", "👩‍🚀", "e\u0301"]

export const textOf = (events: ReadonlyArray<WireEvent>): string => events.map(frameOf).join("")
export const goodEvents = (wire: EventWire) => wire.events([HELLO, HELLO, HELLO], wire.usage(7, 3))

/** The events up to and including the first word. */
const beginning = (wire: EventWire) => {
  const events = goodEvents(wire)
  const first = events.findIndex(wire.isWord)
  return { silent: events.slice(0, first), spoken: events.slice(0, first + 1) }
}

const unanswered = (upstream: string, says: Says, told: Told = failure, timeouts: object = {}): Fault =>
  streamFault(upstream, says, told, "nothing", timeouts)

/** No byte was relayed yet, so the error can still have a status. */
const brokenBeforeIt = (wire: EventWire): ReadonlyArray<Fault> => [
  unanswered("answers with nothing", []),
  unanswered("answers with the last word of another protocol only", [done]),
  unanswered("answers with a ping only", [sent({ type: "ping" })]),
  unanswered("hangs up after its head", [cut]),
  unanswered("resets the connection after its head", [bytes(": hi\n\n"), reset]),
  unanswered("answers with a page", text("<html>\n\ndata: kwyjibo\n\n</html>", "text/html")),
  unanswered("answers with JSON that is none", text("{", "application/json")),
  unanswered("answers with no JSON at all", text("", "application/json")),
  unanswered("answers 200 with an error as JSON", json(indiscretion)),
  unanswered("answers with an empty object as JSON", json({})),
  ...Object.entries(wire.failures).map(([name, event]) => unanswered(`begins with ${name}`, [sent(event), stall])),
  unanswered("begins with an error without a name", [bytes(`data: ${JSON.stringify(indiscretion)}\n\n`), stall]),
  unanswered("begins with a limit", [sent(wire.limit)], refusal(429, "technical_limit", "5")),
  unanswered(
    "answers compressed",
    script({ headers: { "content-encoding": "br" }, steps: goodEvents(wire).map(sent) })
  ),
  unanswered("begins with nonsense", [bytes("data: {kwyjibo\n\n"), stall]),
  unanswered("begins a line that never ends", [bytes("data: "), again(bytes("x".repeat(MIB)))]),
  unanswered("comments for ever", [again(bytes(": thinking\n\n"), 40)], failure, { idle_ms: 300 }),
  unanswered("pings for ever", [again(sent({ type: "ping" }), 40)], failure, { total_ms: 300 })
]

const broken = (wire: EventWire): ReadonlyArray<Fault> => {
  const { silent, spoken } = beginning(wire)
  const [begun, hello] = [silent.map(sent), spoken.map(sent)]
  const after = (upstream: string, rest: ReadonlyArray<Step>, timeouts: object = {}): Fault =>
    streamFault(upstream, [...hello, ...rest], brokenAfter(HELLO), wire.dueWhenCut, timeouts)
  const soon = { idle_ms: 300 }
  return [
    streamFault("hangs up before it says anything", [...begun, cut], brokenAfter(""), "nothing"),
    streamFault("falls silent before it says anything", [...begun, stall], brokenAfter(""), "nothing", soon),
    after("hangs up after a word", [cut]),
    after("ends after a word", []),
    after("ends in the middle of a word", [bytes(`event: kwyjibo\ndata: {"type":"resp`)]),
    ...resetAfterEachEvent(wire),
    after("falls silent after a word", [stall], soon),
    after("only comments after a word", [again(bytes(": thinking\n\n"), 40)], soon),
    after("sends half a frame for ever", [bytes("data: "), again(bytes("x"), 40)], soon),
    streamFault(
      "talks until its time is over",
      [...hello, again(sent(spoken.at(-1) ?? { type: "" }), 40)],
      brokenAfter(undefined),
      wire.dueWhenCut,
      { total_ms: 600 }
    ),
    after("talks nonsense after a word", [bytes("data: kwyjibo\n\n"), stall]),
    after("sends a list after a word", [bytes("data: []\n\n"), stall]),
    after("begins a line that never ends after a word", [again(bytes("x".repeat(MIB)))]),
    after("sends an event that never ends after a word", [again(bytes(`data: ${"x".repeat(MIB)}\n`))]),
    ...Object.entries(wire.failures).map(([name, event]) => after(`tells ${name} after a word`, [sent(event), stall])),
    after("tells an error and then goes on", [sent({ type: "error", ...indiscretion }), ...goodEvents(wire).map(sent)]),
    after("tells an error without a name", [bytes(`data: ${JSON.stringify(indiscretion)}\n\n`), stall]),
    after("tells an error of one word", [bytes('data: {"error":"kwyjibo"}\n\n'), stall]),
    after("names an event an error", [bytes('event: error\ndata: {"message":"kwyjibo"}\n\n'), stall]),
    streamFault(
      "tells a limit after a word",
      [...hello, sent(wire.limit), stall],
      brokenAfter(HELLO, "technical_limit"),
      wire.dueWhenCut
    ),
    after("ends in the way of another protocol", [done]),
    streamFault(
      "answers less than it announced",
      script({ framing: "length", length: 10_000, steps: [bytes(textOf(spoken)), cut] }),
      brokenAfter(HELLO),
      wire.dueWhenCut
    )
  ]
}

/** The client has every event up to that one when the connection breaks. After the last event a break has no effect. */
const resetAfterEachEvent = (wire: EventWire): ReadonlyArray<Fault> => {
  const events = goodEvents(wire)
  return events.map(({ type }, i) => {
    const passed = events.slice(0, i + 1)
    const words = HELLO.repeat(passed.filter(wire.isWord).length)
    const says = (audience: Audience) => [...passed.map(sent), audience.has(i + 1), reset]
    const upstream = `resets the connection after event ${i + 1}, ${type}`
    return i === events.length - 1
      ? streamFault(upstream, says, { as: "answer", text: words }, [7, 3])
      : streamFault(upstream, says, brokenAfter(words), words === "" ? "nothing" : wire.dueWhenCut)
  })
}

const odd = (upstream: string, says: Says, content = SAID): Fault =>
  streamFault(upstream, says, { as: "answer", text: content }, [7, 3])

/** The words are sent in small pieces. The other events are sent faster, but cut at the same places. */
const byteByByte = (wire: EventWire): ReadonlyArray<Step> =>
  wire.events(WORDS, wire.usage(7, 3)).map((event) => inPieces(wire.isWord(event) ? 1 : 29, frameOf(event)))

const oddStreams = (wire: EventWire): ReadonlyArray<Fault> => {
  const events = goodEvents(wire)
  const whole = textOf(events)
  const steps = events.map(sent)
  const ping = frameOf({ type: "ping" })
  const long = "x".repeat(MIB)
  return [
    odd("streams byte by byte", byteByByte(wire), WORDS.join("")),
    odd("streams in one piece", [bytes(whole)]),
    odd("says a word of a mebibyte", wire.events([long], wire.usage(7, 3)).map(sent), long),
    odd("ends lines like a typewriter", [bytes(whole.replaceAll("\n", "\r\n"))]),
    odd("ends lines like an old typewriter", [bytes(whole.replaceAll("\n", "\r"))]),
    odd("begins with a byte order mark", [bytes("\ufeff"), bytes(whole)]),
    odd("leaves out the blanks after colons", [bytes(whole.replaceAll(/^(event|data): /gm, "$1:"))]),
    odd("breaks its data into lines", [bytes(whole.replaceAll(',"', ',\ndata: "'))]),
    odd("numbers its events", [bytes(whole.replaceAll("event: ", "id: 1\nretry: 9\nevent: "))]),
    odd("names no events", [bytes(whole.replaceAll(/^event: .*\n/gm, ""))]),
    odd("names its events only beside the data", [bytes(whole.replaceAll(/^data: \{"type":"[^"]*",?/gm, "data: {"))]),
    odd("comments between its events", [bytes(whole.replaceAll("\n\n", "\n\n: OPENROUTER PROCESSING\n\n"))]),
    odd("leaves out the last empty line", [bytes(whole.trimEnd())]),
    odd("sends pings", [bytes(ping + whole.replaceAll("\n\n", `\n\n${ping}`))]),
    odd("sends events of its own", [
      bytes(whole.replaceAll("\n\n", '\n\nevent: kwyjibo\ndata: {"type":"kwyjibo"}\n\n'))
    ]),
    odd("calls its stream something else", script({ headers: { "content-type": "text/plain" }, steps })),
    odd("ends its stream by hanging up", script({ framing: "until close", steps })),
    odd("announces the length of its stream", text(whole, "text/event-stream")),
    odd("answers whole", json(wire.answer(SAID, wire.usage(7, 3)))),
    odd("ends with the last word of another protocol", [...steps, done]),
    odd("goes on after its end", [...steps, ...steps, sent({ type: "error", ...indiscretion })]),
    odd("does not close after its end", [...steps, stall]),
    odd("hangs up after its end", [...steps, cut]),
    streamFault(
      "reports no usage",
      wire.events([HELLO, HELLO, HELLO]).map(sent),
      { as: "answer", text: SAID, ...wire.usageUntold },
      "what arrived"
    ),
    streamFault(
      "reports that nothing was used",
      wire.events([HELLO, HELLO, HELLO], wire.usage(0, 0)).map(sent),
      { as: "answer", text: SAID },
      [0, 0]
    ),
    odd("says nothing, and what that took", wire.events([], wire.usage(7, 3)).map(sent), ""),
    odd(
      "says who it is and what it costs",
      events.map((event) => sent({ ...event, ...traces, type: event.type }))
    )
  ]
}

export const eventStreamFaults = (wire: EventWire): ReadonlyArray<Fault> => [
  ...brokenBeforeIt(wire),
  ...broken(wire),
  ...oddStreams(wire)
]
