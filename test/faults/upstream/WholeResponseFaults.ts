/**
 * Lists upstream faults in whole chat responses. An invalid response causes an error. An unusual response is accepted.
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
import { type ExpectedCharge, type Fault, failure, invalidResponse, refusal, unfinishedResponse } from "./Fault.ts"
import { identifyingError, identifyingMembers } from "./IdentifyingData.ts"

const CONTENT = " hello hello hello"
const good = completion({ content: [CONTENT], usage: usage(7, 3) })
const goodBytes = JSON.stringify(good)
const [choice] = good.choices

const unusableResponses: ReadonlyArray<Fault> = [
  invalidResponse("sends an HTML page", text("<html><title>kwyjibo</title></html>", "text/html")),
  invalidResponse("sends invalid JSON", text('{"id": "x", "choices": [', "application/json")),
  invalidResponse("sends an empty body", text("", "application/json")),
  invalidResponse("sends null", json(null)),
  invalidResponse("sends a JSON array", json([good])),
  invalidResponse("sends no choices member", json({ id: "x", object: "chat.completion", usage: usage(7, 3) })),
  invalidResponse("sends an empty choices array", json({ ...good, choices: [] })),
  invalidResponse(
    "sends a choice without a message",
    json({ ...good, choices: [{ index: 0, finish_reason: "stop" }] })
  ),
  invalidResponse("sends an unrequested stream", stream([good])),
  invalidResponse("sends an unrequested compressed body", json(good, 200, { "content-encoding": "gzip" })),
  invalidResponse("sends status 200 with an error", json(identifyingError)),
  invalidResponse("sends status 200 with an error that is a string", json({ error: "kwyjibo" })),
  invalidResponse("sends status 200 with both an error and a response", json({ ...good, ...identifyingError })),
  invalidResponse(
    "sends status 200 with a failed choice",
    json({ ...good, choices: [{ ...choice, finish_reason: "error" }] })
  ),
  invalidResponse(
    "sends status 200 with a rate limit error",
    json({ error: { message: "slow down", code: 429 } }),
    refusal(429, "technical_limit", "5")
  ),
  invalidResponse("sends less than the announced length", {
    ...text(goodBytes, "application/json"),
    length: goodBytes.length + 1,
    steps: [bytes(goodBytes), cut]
  }),
  invalidResponse("closes the connection before the last chunk of the body", unfinishedResponse(bytes(goodBytes), cut)),
  invalidResponse("resets the connection inside the body", unfinishedResponse(bytes(goodBytes.slice(0, 99)), reset)),
  invalidResponse("stalls inside the body", unfinishedResponse(bytes("{"), stall), failure, { idle_ms: 300 }),
  invalidResponse("never ends the body", unfinishedResponse(again(bytes(" "), 40)), failure, { total_ms: 400 })
]

const unusual = (
  upstream: string,
  upstreamScript: Script,
  charge: ExpectedCharge = [7, 3],
  content = CONTENT
): Fault => ({
  upstream,
  requested: "whole",
  upstreamScript: () => upstreamScript,
  expected: { kind: "complete", text: content },
  charge
})

const reporting = (reportedUsage: unknown): Script => json({ ...good, usage: reportedUsage })

const EMOJI = "Grüße, 世界 👩‍🚀"

const unusualResponses: ReadonlyArray<Fault> = [
  unusual(
    "sends its body byte by byte",
    unfinishedResponse(inPieces(1, JSON.stringify(completion({ content: [EMOJI], usage: usage(7, 3) })))),
    [7, 3],
    EMOJI
  ),
  unusual("sends JSON with another content type", text(goodBytes, "text/plain")),
  unusual("begins with a byte order mark", text(`\ufeff${goodBytes}`, "application/json")),
  unusual("marks the end of the body by closing the connection", { ...json(good), framing: "until close" }),
  unusual("sends an interim response first", earlyHints(goodBytes)),
  unusual("reports no usage", json(completion({ content: [CONTENT] })), "delivered content"),
  unusual("reports null as its usage", reporting(null), "delivered content"),
  unusual("reports zero usage", reporting(usage(0, 0)), [0, 0]),
  unusual("reports negative usage", reporting({ prompt_tokens: -7, completion_tokens: -3 }), "delivered content"),
  unusual("reports usage as strings", reporting({ prompt_tokens: "7", completion_tokens: "3" }), "delivered content"),
  unusual("reports only the prompt tokens", reporting({ prompt_tokens: 70 }), { prompt: 70 }),
  unusual("reports a wrong total", reporting({ ...usage(7, 3), total_tokens: 2 })),
  unusual(
    "counts hidden reasoning only in the total",
    reporting({ ...usage(7, 3), total_tokens: 30, completion_tokens_details: { reasoning_tokens: 20 } }),
    [7, 23]
  ),
  unusual("reports a total that nothing explains", reporting({ ...usage(7, 3), total_tokens: 9_000_000 })),
  unusual("reports more cached tokens than prompt tokens", reporting(usage(7, 3, 99))),
  unusual(
    "reveals its name and its cost",
    json({ ...good, ...identifyingMembers, usage: { ...usage(7, 3), ...identifyingMembers } })
  )
]

function earlyHints(body: string): Script {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return script({
    status: "none",
    steps: [raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"), raw(head), raw(body)]
  })
}

export const wholeResponseFaults: ReadonlyArray<Fault> = [...unusableResponses, ...unusualResponses]
