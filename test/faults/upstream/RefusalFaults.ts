/**
 * Lists upstream faults in which no content arrives.
 */
import { errorBody } from "../../support/upstream/ChatWire.ts"
import {
  bytes,
  closeImmediately,
  cut,
  json,
  raw,
  resetImmediately,
  type Script,
  script,
  silence,
  stall,
  text
} from "../../support/upstream/Script.ts"
import { type ExpectedResult, type Fault, failure, refusal } from "./Fault.ts"
import { HIDDEN_MODEL, identifyingError } from "./IdentifyingData.ts"

type FaultWithoutContent = Omit<Fault, "requested" | "charge" | "upstreamScript" | "expected"> & {
  readonly upstreamScript?: Script
  readonly expected?: ExpectedResult
}

/** Returns the fault of a stream and of a whole response. Nothing is charged, because no content arrives. */
const withoutContent = ({
  upstreamScript = silence,
  expected = failure,
  ...fault
}: FaultWithoutContent): ReadonlyArray<Fault> =>
  (["stream", "whole"] as const).map((requested) => ({
    ...fault,
    requested,
    upstreamScript: () => upstreamScript,
    expected,
    charge: "nothing"
  }))

const soon = { first_byte_ms: 200, idle_ms: 200 }

const unreachable: ReadonlyArray<FaultWithoutContent> = [
  { upstream: "refuses the connection", at: "at a closed port" },
  { upstream: "presents an untrusted certificate", at: "behind an untrusted certificate" },
  { upstream: "does not use TLS at an https URL", at: "at a port without TLS" },
  { upstream: "resets the connection before it responds", upstreamScript: resetImmediately },
  { upstream: "closes the connection before it responds", upstreamScript: closeImmediately },
  { upstream: "sends nothing until the first-byte timeout", upstreamScript: silence, timeouts: soon },
  {
    upstream: "sends half of a response head and stalls",
    upstreamScript: half("HTTP/1.1 200 OK\r\ncontent-"),
    timeouts: soon
  },
  {
    upstream: "sends half of a response head and closes the connection",
    upstreamScript: half("HTTP/1.1 200 OK\r\ncontent-", cut)
  },
  { upstream: "responds in another protocol than HTTP", upstreamScript: half("SSH-2.0-OpenSSH_9.2\r\n", cut) },
  { upstream: "sends a response head of 64 KiB", upstreamScript: json({}, 200, { padding: "x".repeat(65_536) }) },
  {
    upstream: "sends only interim responses",
    upstreamScript: half("HTTP/1.1 103 Early Hints\r\n\r\n"),
    timeouts: soon
  },
  { upstream: "sends status 204", upstreamScript: script({ status: 204, framing: "length", length: 0 }) },
  {
    upstream: "sends status 101 to switch protocols",
    upstreamScript: half("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", cut)
  }
]

function half(head: string, after = stall): Script {
  return script({ status: "none", steps: [raw(head), after] })
}

const refuses = (
  status: number,
  expected: ExpectedResult,
  headers: Readonly<Record<string, string>> = {}
): FaultWithoutContent => ({
  upstream: `sends status ${status}${Object.entries(headers).map(([name, value]) => ` with ${name} '${value}'`)}`,
  upstreamScript: json(identifyingError, status, headers),
  expected
})

const limited = (retryAfter: string): ExpectedResult => refusal(429, "technical_limit", retryAfter)

const refusals: ReadonlyArray<FaultWithoutContent> = [
  ...[400, 422].map((status) => refuses(status, refusal(400, "invalid_request"))),
  ...[401, 402, 403, 404, 405, 406, 408, 409, 410, 415, 418, 451].map((status) => refuses(status, failure)),
  refuses(413, refusal(413, "request_too_large")),
  refuses(429, limited("5")),
  refuses(429, limited("7"), { "retry-after": "7" }),
  refuses(429, limited("1"), { "retry-after": "0.2" }),
  refuses(429, limited("60"), { "retry-after": "86400" }),
  refuses(429, limited("5"), { "retry-after": "0" }),
  refuses(429, limited("5"), { "retry-after": "-3" }),
  refuses(429, limited("5"), { "retry-after": "soon" }),
  refuses(429, limited("5"), { "retry-after": "Fri, 20 Nov 2026 08:00:00 GMT" }),
  ...[500, 501, 502, 503, 504, 520, 529, 599].map((status) => refuses(status, failure)),
  ...[300, 301, 302, 303, 307, 308].map((status) => refuses(status, failure, { location: "/v1/elsewhere" })),
  {
    upstream: "sends status 400 without a body",
    upstreamScript: text("", "", 400),
    expected: refusal(400, "invalid_request")
  },
  {
    upstream: "sends status 400 with an HTML page",
    upstreamScript: text(`<h1>${HIDDEN_MODEL}`, "text/html", 400),
    expected: refusal(400, "invalid_request")
  },
  {
    upstream: "sends status 400 because of the API key of the gateway",
    upstreamScript: json(errorBody("API key not valid. Please pass a valid API key."), 400),
    expected: failure
  },
  {
    upstream: "announces an error body, sends one byte of it and closes the connection",
    upstreamScript: script({ status: 503, framing: "length", length: 100, steps: [bytes("{"), cut] }),
    expected: failure
  },
  {
    upstream: "sends 200,000 bytes of an error body and stalls",
    upstreamScript: script({ status: 400, steps: [bytes("x".repeat(200_000)), stall] }),
    expected: refusal(400, "invalid_request")
  }
]

export const refusalFaults: ReadonlyArray<Fault> = [...unreachable, ...refusals].flatMap(withoutContent)
