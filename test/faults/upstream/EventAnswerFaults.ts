/**
 * Faults in whole responses of a protocol with named events: invalid and unusual ones.
 */
import { frameOf } from "../../support/upstream/MessagesWire.ts"
import {
  again,
  bytes,
  cut,
  inPieces,
  json,
  raw,
  reset,
  type Script,
  script,
  stall,
  text
} from "../../support/upstream/Script.ts"
import type { EventWire } from "./EventWire.ts"
import { type Due, type Fault, failure, refusal, type Told } from "./Fault.ts"
import { indiscretion, traces } from "./Telltales.ts"

const CONTENT = " hello hello hello"
const EMOJI = "Grüße, 世界 👩‍🚀"

/** The head of a JSON response, followed by these steps. */
const unfinished = (...steps: Script["steps"]): Script =>
  script({ headers: { "content-type": "application/json" }, steps })

const useless = (upstream: string, says: Script, told: Told = failure, timeouts: object = {}): Fault => ({
  upstream,
  asked: "answer",
  says: () => says,
  told,
  due: "nothing",
  timeouts
})

const odd = (upstream: string, says: Script, due: Due = [7, 3], content = CONTENT): Fault => ({
  upstream,
  asked: "answer",
  says: () => says,
  told: { as: "answer", text: content },
  due
})

const noAnswers = (wire: EventWire): ReadonlyArray<Fault> => {
  const good = wire.answer(CONTENT, wire.usage(7, 3))
  const goodBytes = JSON.stringify(good)
  const events = wire.events([CONTENT], wire.usage(7, 3))
  return [
    useless("answers with a page", text("<html><title>kwyjibo</title></html>", "text/html")),
    useless("answers with JSON that is none", text(goodBytes.slice(0, -1), "application/json")),
    useless("answers with nothing", text("", "application/json")),
    useless("answers with null", json(null)),
    useless("answers with a list", json([good])),
    useless("answers with an empty object", json({})),
    useless("answers with usage only", json({ usage: wire.usage(7, 3) })),
    useless("answers with an unrequested stream", script({ steps: events.map((each) => bytes(frameOf(each))) })),
    useless("answers compressed, without a request for it", json(good, 200, { "content-encoding": "gzip" })),
    useless("answers 200 with an error", json(indiscretion)),
    useless("answers 200 with an error that is a word", json({ error: "kwyjibo" })),
    useless("answers 200 with an error beside an answer", json({ ...good, ...indiscretion })),
    ...Object.entries(wire.failures).map(([name, event]) =>
      useless(`answers 200 with the event of ${name}`, json(event))
    ),
    useless("answers 200 with an event that is a limit", json(wire.limit), refusal(429, "technical_limit", "5")),
    useless("answers less than it announced", {
      ...text(goodBytes, "application/json"),
      length: goodBytes.length + 1,
      steps: [bytes(goodBytes), cut]
    }),
    useless("hangs up before the last chunk of its answer", unfinished(bytes(goodBytes), cut)),
    useless("resets the connection in the middle of its answer", unfinished(bytes(goodBytes.slice(0, 99)), reset)),
    useless("falls silent in the middle of its answer", unfinished(bytes("{"), stall), failure, { idle_ms: 300 }),
    useless("never comes to the end of its answer", unfinished(again(bytes(" "), 40)), failure, { total_ms: 300 })
  ]
}

const oddAnswers = (wire: EventWire): ReadonlyArray<Fault> => {
  const usage = wire.usage(7, 3)
  const good = wire.answer(CONTENT, usage)
  const goodBytes = JSON.stringify(good)
  return [
    odd("answers byte by byte", unfinished(inPieces(1, JSON.stringify(wire.answer(EMOJI, usage)))), [7, 3], EMOJI),
    odd("answers JSON under another name", text(goodBytes, "text/plain")),
    odd("ends its answer by hanging up", { ...json(good), framing: "until close" }),
    odd("hints at its answer first", earlyHints(goodBytes)),
    odd("reports no usage", json(wire.answer(CONTENT)), "what arrived"),
    odd("reports null as usage", json(wire.answer(CONTENT, null)), "what arrived"),
    odd("reports that nothing was used", json(wire.answer(CONTENT, wire.usage(0, 0))), [0, 0]),
    odd("says nothing, and what that took", json(wire.answer("", usage)), [7, 3], ""),
    odd("says who it is and what it costs", json({ ...good, ...traces, usage: { ...usage, ...traces } }))
  ]
}

function earlyHints(body: string): Script {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return script({
    status: "none",
    steps: [raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"), raw(head), raw(body)]
  })
}

export const eventAnswerFaults = (wire: EventWire): ReadonlyArray<Fault> => [...noAnswers(wire), ...oddAnswers(wire)]
