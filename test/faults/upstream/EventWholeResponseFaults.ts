/**
 * Lists upstream faults in whole responses of the messages and responses protocols.
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
import { type ExpectedCharge, type Fault, failure, invalidResponse, refusal, unfinishedResponse } from "./Fault.ts"
import { identifyingError, identifyingMembers } from "./IdentifyingData.ts"

const CONTENT = " hello hello hello"
const EMOJI = "Grüße, 世界 👩‍🚀"

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

const unusableResponses = (wire: EventWire): ReadonlyArray<Fault> => {
  const good = wire.whole(CONTENT, wire.usage(7, 3))
  const goodBytes = JSON.stringify(good)
  const events = wire.events([CONTENT], wire.usage(7, 3))
  return [
    invalidResponse("sends an HTML page", text("<html><title>kwyjibo</title></html>", "text/html")),
    invalidResponse("sends invalid JSON", text(goodBytes.slice(0, -1), "application/json")),
    invalidResponse("sends an empty body", text("", "application/json")),
    invalidResponse("sends null", json(null)),
    invalidResponse("sends a JSON array", json([good])),
    invalidResponse("sends an empty object", json({})),
    invalidResponse("sends only usage", json({ usage: wire.usage(7, 3) })),
    invalidResponse("sends an unrequested stream", script({ steps: events.map((each) => bytes(frameOf(each))) })),
    invalidResponse("sends an unrequested compressed body", json(good, 200, { "content-encoding": "gzip" })),
    invalidResponse("sends status 200 with an error", json(identifyingError)),
    invalidResponse("sends status 200 with an error that is a string", json({ error: "kwyjibo" })),
    invalidResponse("sends status 200 with both an error and a response", json({ ...good, ...identifyingError })),
    ...Object.entries(wire.failures).map(([name, event]) =>
      invalidResponse(`sends status 200 with ${name}`, json(event))
    ),
    invalidResponse("sends status 200 with a rate limit event", json(wire.limit), refusal(429, "technical_limit", "5")),
    invalidResponse("sends less than the announced length", {
      ...text(goodBytes, "application/json"),
      length: goodBytes.length + 1,
      steps: [bytes(goodBytes), cut]
    }),
    invalidResponse(
      "closes the connection before the last chunk of the body",
      unfinishedResponse(bytes(goodBytes), cut)
    ),
    invalidResponse("resets the connection inside the body", unfinishedResponse(bytes(goodBytes.slice(0, 99)), reset)),
    invalidResponse("stalls inside the body", unfinishedResponse(bytes("{"), stall), failure, { idle_ms: 300 }),
    invalidResponse("never ends the body", unfinishedResponse(again(bytes(" "), 40)), failure, { total_ms: 300 })
  ]
}

const unusualResponses = (wire: EventWire): ReadonlyArray<Fault> => {
  const usage = wire.usage(7, 3)
  const good = wire.whole(CONTENT, usage)
  const goodBytes = JSON.stringify(good)
  return [
    unusual(
      "sends its body byte by byte",
      unfinishedResponse(inPieces(1, JSON.stringify(wire.whole(EMOJI, usage)))),
      [7, 3],
      EMOJI
    ),
    unusual("sends JSON with another content type", text(goodBytes, "text/plain")),
    unusual("begins with a byte order mark", text(`\ufeff${goodBytes}`, "application/json")),
    unusual("marks the end of the body by closing the connection", { ...json(good), framing: "until close" }),
    unusual("sends an interim response first", earlyHints(goodBytes)),
    unusual("reports no usage", json(wire.whole(CONTENT)), "delivered content"),
    unusual("reports null as its usage", json(wire.whole(CONTENT, null)), "delivered content"),
    unusual("reports zero usage", json(wire.whole(CONTENT, wire.usage(0, 0))), [0, 0]),
    unusual("sends no content but reports usage", json(wire.whole("", usage)), [7, 3], ""),
    unusual(
      "reveals its name and its cost",
      json({ ...good, ...identifyingMembers, usage: { ...usage, ...identifyingMembers } })
    )
  ]
}

function earlyHints(body: string): Script {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return script({
    status: "none",
    steps: [raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"), raw(head), raw(body)]
  })
}

export const eventWholeResponseFaults = (wire: EventWire): ReadonlyArray<Fault> => [
  ...unusableResponses(wire),
  ...unusualResponses(wire)
]
