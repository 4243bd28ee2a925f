/**
 * Tests every upstream fault in the responses protocol.
 */
import { sent, type WireEvent } from "../support/upstream/MessagesWire.ts"
import { begun, response, responsesUsage } from "../support/upstream/ResponsesWire.ts"
import { json, stall } from "../support/upstream/Script.ts"
import { eventAnswerFaults } from "./upstream/EventAnswerFaults.ts"
import { eventStreamFaults, goodEvents, HELLO, SAID, streamFault } from "./upstream/EventStreamFaults.ts"
import { responsesWire } from "./upstream/EventWire.ts"
import { brokenAfter, type Due, type Fault, failure, refusal, type Told } from "./upstream/Fault.ts"
import { faultSuite } from "./upstream/FaultSuite.ts"
import { responsesDialect } from "./upstream/OpenAiDialects.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"
import { traces } from "./upstream/Telltales.ts"

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
const told = (upstream: string, says: ReadonlyArray<WireEvent>, due: Due): Fault =>
  streamFault(upstream, says.map(sent), { as: "answer", text: SAID }, due)
const unanswered = (upstream: string, says: object, as: Told = failure): ReadonlyArray<Fault> =>
  (["answer", "stream"] as const).map((asked) => ({
    upstream,
    asked,
    says: () => json(says),
    told: as,
    due: "nothing"
  }))

/** Faults of this protocol only. The final event of a stream repeats the whole response and reports the usage. */
const ofResponses: ReadonlyArray<Fault> = [
  streamFault("omits its final event", unfinished.map(sent), brokenAfter(SAID), "what arrived"),
  streamFault(
    "sends a final event without a response object",
    [...unfinished, { type: "response.completed" }].map(sent),
    brokenAfter(SAID),
    "what arrived"
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
    "what arrived"
  ),
  streamFault(
    "rejects the request in its first event",
    [failed("context_length_exceeded")].map(sent),
    refusal(400, "invalid_request"),
    "nothing"
  ),
  ...unanswered("sends a failed response", response({}, { status: "failed", output: [], error: null })),
  ...unanswered("sends a cancelled response", response({}, { status: "cancelled", output: [] })),
  ...unanswered("sends an unfinished response", response({}, { status: "in_progress", output: [] })),
  ...unanswered("sends a queued response", response({}, { status: "queued", output: [] })),
  ...unanswered("sends a response without output", { ...response(), output: null }),
  ...unanswered(
    "sends a failed response with a rate limit error",
    failed("rate_limit_exceeded").response as object,
    refusal(429, "technical_limit", "5")
  ),
  told("reports null as its usage", [...unfinished, ended(null)], "what arrived"),
  told("reports usage as strings", [...unfinished, ended({ input_tokens: "7", output_tokens: "3" })], "what arrived"),
  told("reports negative usage", [...unfinished, ended({ input_tokens: -7, output_tokens: -3 })], "what arrived"),
  told("reports a wrong total", [...unfinished, ended({ ...responsesUsage(7, 3), total_tokens: 2 })], [7, 3]),
  told(
    "counts hidden reasoning only in the total",
    [
      ...unfinished,
      ended({ ...responsesUsage(7, 3), total_tokens: 30, output_tokens_details: { reasoning_tokens: 20 } })
    ],
    [7, 23]
  ),
  told("reports more cached tokens than prompt tokens", [...unfinished, ended(responsesUsage(7, 3, 99, 99))], [7, 3]),
  told("reports usage twice", [...unfinished, ended(responsesUsage(7, 3)), ended(responsesUsage(70, 30))], [7, 3]),
  told(
    "reports zero usage until its final event",
    events.map((event) =>
      event.type === "response.created" || event.type === "response.in_progress"
        ? { ...event, response: { ...begun(), usage: responsesUsage(0, 0) } }
        : event
    ),
    [7, 3]
  ),
  told(
    "reveals its name and its cost in the final response",
    [...unfinished, ended({ ...responsesUsage(7, 3), ...traces }, traces)],
    [7, 3]
  )
]

faultSuite(
  responsesDialect,
  [...eventStreamFaults(responsesWire), ...ofResponses, ...eventAnswerFaults(responsesWire), ...refusalFaults],
  150
)
