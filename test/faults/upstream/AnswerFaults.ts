/**
 * Faults in whole chat responses: invalid and unusual ones.
 */
import { completion, usage } from "../../support/upstream/ChatWire.ts"
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
  stream,
  text
} from "../../support/upstream/Script.ts"
import { type Due, type Fault, failure, refusal, type Told } from "./Fault.ts"
import { indiscretion, traces } from "./Telltales.ts"

const CONTENT = " hello hello hello"
const good = completion({ content: [CONTENT], usage: usage(7, 3) })
const goodBytes = JSON.stringify(good)
const [choice] = good.choices

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

const noAnswers: ReadonlyArray<Fault> = [
  useless("answers with a page", text("<html><title>kwyjibo</title></html>", "text/html")),
  useless("answers with JSON that is none", text('{"id": "x", "choices": [', "application/json")),
  useless("answers with nothing", text("", "application/json")),
  useless("answers with null", json(null)),
  useless("answers with a list", json([good])),
  useless("answers without choices", json({ id: "x", object: "chat.completion", usage: usage(7, 3) })),
  useless("answers with no choice", json({ ...good, choices: [] })),
  useless("answers with a choice without a message", json({ ...good, choices: [{ index: 0, finish_reason: "stop" }] })),
  useless("answers with an unrequested stream", stream([good])),
  useless("answers compressed, without a request for it", json(good, 200, { "content-encoding": "gzip" })),
  useless("answers 200 with an error", json(indiscretion)),
  useless("answers 200 with an error that is a word", json({ error: "kwyjibo" })),
  useless("answers 200 with an error beside an answer", json({ ...good, ...indiscretion })),
  useless("answers 200 with a choice that failed", json({ ...good, choices: [{ ...choice, finish_reason: "error" }] })),
  useless(
    "answers 200 with an error that is a limit",
    json({ error: { message: "slow down", code: 429 } }),
    refusal(429, "technical_limit", "5")
  ),
  useless("answers less than it announced", {
    ...text(goodBytes, "application/json"),
    length: goodBytes.length + 1,
    steps: [bytes(goodBytes), cut]
  }),
  useless("hangs up before the last chunk of its answer", unfinished(bytes(goodBytes), cut)),
  useless("resets the connection in the middle of its answer", unfinished(bytes(goodBytes.slice(0, 99)), reset)),
  useless("falls silent in the middle of its answer", unfinished(bytes("{"), stall), failure, { idle_ms: 300 }),
  useless("never comes to the end of its answer", unfinished(again(bytes(" "), 40)), failure, { total_ms: 400 })
]

const odd = (upstream: string, says: Script, due: Due = [7, 3], content = CONTENT): Fault => ({
  upstream,
  asked: "answer",
  says: () => says,
  told: { as: "answer", text: content },
  due
})

const reporting = (figures: unknown): Script => json({ ...good, usage: figures })

const EMOJI = "Grüße, 世界 👩‍🚀"

const oddAnswers: ReadonlyArray<Fault> = [
  odd(
    "answers byte by byte",
    unfinished(inPieces(1, JSON.stringify(completion({ content: [EMOJI], usage: usage(7, 3) })))),
    [7, 3],
    EMOJI
  ),
  odd("answers JSON under another name", text(goodBytes, "text/plain")),
  odd("ends its answer by hanging up", { ...json(good), framing: "until close" }),
  odd("hints at its answer first", earlyHints(goodBytes)),
  odd("reports no usage", json(completion({ content: [CONTENT] })), "what arrived"),
  odd("reports null as usage", reporting(null), "what arrived"),
  odd("reports that nothing was used", reporting(usage(0, 0)), [0, 0]),
  odd("reports usage below zero", reporting({ prompt_tokens: -7, completion_tokens: -3 }), "what arrived"),
  odd("reports usage in words", reporting({ prompt_tokens: "7", completion_tokens: "3" }), "what arrived"),
  odd("reports the prompt only", reporting({ prompt_tokens: 70 }), { prompt: 70 }),
  odd("reports a total that is wrong", reporting({ ...usage(7, 3), total_tokens: 2 })),
  odd("counts hidden reasoning in the total only", reporting({ ...usage(7, 3), total_tokens: 30 }), [7, 23]),
  odd("reports more cached tokens than tokens", reporting(usage(7, 3, 99))),
  odd("says who it is and what it costs", json({ ...good, ...traces, usage: { ...usage(7, 3), ...traces } }))
]

function earlyHints(body: string): Script {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return script({
    status: "none",
    steps: [raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"), raw(head), raw(body)]
  })
}

export const answerFaults: ReadonlyArray<Fault> = [...noAnswers, ...oddAnswers]
