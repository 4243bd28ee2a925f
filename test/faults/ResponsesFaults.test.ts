/**
 * Tests the responses protocol with the upstream faults of the folder `upstream`, and with faults that only this
 * protocol has.
 */
import { sent, type WireEvent } from "../support/upstream/MessagesWire.ts"
import { begun, response, responsesUsage } from "../support/upstream/ResponsesWire.ts"
import { json, stall } from "../support/upstream/Script.ts"
import { DELIVERED_TEXT, eventStreamFaults, goodEvents, HELLO } from "./upstream/EventStreamFaults.ts"
import { eventWholeResponseFaults } from "./upstream/EventWholeResponseFaults.ts"
import { responsesWire } from "./upstream/EventWire.ts"
import {
  brokenAfter,
  type ExpectedCharge,
  type ExpectedResult,
  type Fault,
  failure,
  refusal,
  streamFault
} from "./upstream/Fault.ts"
import { faultSuite } from "./upstream/FaultSuite.ts"
import { identifyingMembers } from "./upstream/IdentifyingData.ts"
import { responsesDialect } from "./upstream/OpenAiDialects.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"

const events = goodEvents(responsesWire)
const unfinished = events.slice(0, -1)
const spoken = events.slice(0, events.findIndex(responsesWire.isWord) + 1)
const ended = (usage: unknown, more: object = {}): WireEvent => ({
  type: "response.completed",
  response: response({ content: [HELLO, HELLO, HELLO] }, { usage, ...more })
})
const failed = (code: string, usage: unknown = null): WireEvent => ({
  type: "response.failed",
  response: { ...begun(), status: "failed", error: { code, message: "kwyjibo" }, usage }
})
const completeStream = (upstream: string, events: ReadonlyArray<WireEvent>, charge: ExpectedCharge): Fault =>
  streamFault(upstream, events.map(sent), { kind: "complete", text: DELIVERED_TEXT }, charge)
const withoutContent = (upstream: string, body: object, expected: ExpectedResult = failure): ReadonlyArray<Fault> =>
  (["whole", "stream"] as const).map((requested) => ({
    upstream,
    requested,
    upstreamScript: () => json(body),
    expected,
    charge: "nothing"
  }))

/** Faults that only this protocol has. The final event of a stream repeats the whole response and reports the usage. */
const ofResponses: ReadonlyArray<Fault> = [
  streamFault("omits its final event", unfinished.map(sent), brokenAfter(DELIVERED_TEXT), "delivered content"),
  streamFault(
    "sends a final event without a response object",
    [...unfinished, { type: "response.completed" }].map(sent),
    brokenAfter(DELIVERED_TEXT),
    "delivered content"
  ),
  streamFault(
    "reports a failure with usage after a word",
    [...spoken, failed("server_error", responsesUsage(7, 3))].map(sent),
    brokenAfter(HELLO),
    { prompt: 7 }
  ),
  streamFault(
    "rejects the request after a word",
    [...[...spoken, failed("context_length_exceeded")].map(sent), stall],
    brokenAfter(HELLO, "invalid_request"),
    "delivered content"
  ),
  streamFault(
    "rejects the request in its first event",
    [failed("context_length_exceeded")].map(sent),
    refusal(400, "invalid_request"),
    "nothing"
  ),
  ...withoutContent("sends a failed response", response({}, { status: "failed", output: [], error: null })),
  ...withoutContent("sends a cancelled response", response({}, { status: "cancelled", output: [] })),
  ...withoutContent("sends an unfinished response", response({}, { status: "in_progress", output: [] })),
  ...withoutContent("sends a queued response", response({}, { status: "queued", output: [] })),
  ...withoutContent("sends a response without output", { ...response(), output: null }),
  ...withoutContent(
    "sends a failed response with a rate limit error",
    failed("rate_limit_exceeded").response as object,
    refusal(429, "technical_limit", "5")
  ),
  completeStream("reports null as its usage", [...unfinished, ended(null)], "delivered content"),
  completeStream(
    "reports usage as strings",
    [...unfinished, ended({ input_tokens: "7", output_tokens: "3" })],
    "delivered content"
  ),
  completeStream(
    "reports negative usage",
    [...unfinished, ended({ input_tokens: -7, output_tokens: -3 })],
    "delivered content"
  ),
  completeStream("reports a wrong total", [...unfinished, ended({ ...responsesUsage(7, 3), total_tokens: 2 })], [7, 3]),
  completeStream(
    "counts hidden reasoning only in the total",
    [
      ...unfinished,
      ended({ ...responsesUsage(7, 3), total_tokens: 30, output_tokens_details: { reasoning_tokens: 20 } })
    ],
    [7, 23]
  ),
  completeStream(
    "reports more cached tokens than prompt tokens",
    [...unfinished, ended(responsesUsage(7, 3, 99, 99))],
    [7, 3]
  ),
  completeStream(
    "reports usage twice",
    [...unfinished, ended(responsesUsage(7, 3)), ended(responsesUsage(70, 30))],
    [7, 3]
  ),
  completeStream(
    "reports zero usage until its final event",
    events.map((event) =>
      event.type === "response.created" || event.type === "response.in_progress"
        ? { ...event, response: { ...begun(), usage: responsesUsage(0, 0) } }
        : event
    ),
    [7, 3]
  ),
  completeStream(
    "reveals its name and its cost in the final response",
    [...unfinished, ended({ ...responsesUsage(7, 3), ...identifyingMembers }, identifyingMembers)],
    [7, 3]
  )
]

faultSuite(
  responsesDialect,
  [...eventStreamFaults(responsesWire), ...ofResponses, ...eventWholeResponseFaults(responsesWire), ...refusalFaults],
  150
)
