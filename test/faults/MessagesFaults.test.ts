/**
 * Tests the messages protocol with the upstream faults of the folder `upstream`, and with faults that only this
 * protocol has.
 */
import {
  messageDelta,
  messageStart,
  messageStop,
  sent,
  textDelta,
  textStart,
  usage,
  type WireEvent
} from "../support/upstream/MessagesWire.ts"
import { cut } from "../support/upstream/Script.ts"
import { messagesDialect } from "./upstream/AnthropicDialect.ts"
import { DELIVERED_TEXT, eventStreamFaults, goodEvents, HELLO } from "./upstream/EventStreamFaults.ts"
import { eventWholeResponseFaults } from "./upstream/EventWholeResponseFaults.ts"
import { messagesWire } from "./upstream/EventWire.ts"
import {
  brokenAfter,
  type ExpectedCharge,
  type Fault,
  failure,
  streamFault,
  type TokenCounts
} from "./upstream/Fault.ts"
import { faultSuite } from "./upstream/FaultSuite.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"

const events = goodEvents(messagesWire)
const words = [textStart, textDelta(HELLO), textDelta(HELLO), textDelta(HELLO)]
const completeStream = (
  upstream: string,
  upstreamScript: ReadonlyArray<WireEvent>,
  charge: ExpectedCharge,
  seen?: TokenCounts
): Fault =>
  streamFault(
    upstream,
    upstreamScript.map(sent),
    { kind: "complete", text: DELIVERED_TEXT, ...(seen && { usage: seen }) },
    charge
  )

/**
 * Faults that only this protocol has. A valid stream reports the prompt tokens in its first event, and the stop reason
 * and the output tokens in the event before the last.
 */
const ofMessages: ReadonlyArray<Fault> = [
  streamFault("omits the start event", events.slice(1).map(sent), failure, "nothing"),
  streamFault(
    "sends a second start event after a word",
    [...events.slice(0, 3), messageStart({ usage: usage(7, 3) })].map(sent),
    brokenAfter(HELLO),
    { prompt: 7 }
  ),
  streamFault("omits its last two events", events.slice(0, -2).map(sent), brokenAfter(DELIVERED_TEXT), { prompt: 7 }),
  completeStream("omits its last event", events.slice(0, -1), [7, 3]),
  completeStream("omits the stop reason", [...events.slice(0, -2), messageDelta(3, null), messageStop], [7, 3]),
  streamFault(
    "closes the connection without having reported prompt tokens",
    [...[messageStart(), textStart, textDelta(HELLO)].map(sent), cut],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "closes the connection after it has reported zero prompt tokens",
    [...[messageStart({ usage: usage(0, 0) }), textStart, textDelta(HELLO)].map(sent), cut],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "reports fewer output tokens than it sends and closes the connection",
    [...[...events.slice(0, 5), messageDelta(2, null)].map(sent), cut],
    brokenAfter(DELIVERED_TEXT),
    [7, 2]
  ),
  completeStream(
    "reports usage twice",
    [messageStart({ usage: usage(7, 3) }), ...words, messageDelta(2, null), messageDelta(3), messageStop],
    [7, 3]
  ),
  completeStream(
    "reports zero output tokens after a first usage",
    [...events.slice(0, -2), messageDelta(3, null), messageDelta(0), messageStop],
    [7, 3],
    [7, 0]
  ),
  completeStream(
    "reports zero prompt tokens first and the right number at the end",
    [
      messageStart({ usage: usage(0, 0) }),
      ...words,
      { ...messageDelta(), usage: { input_tokens: 7, output_tokens: 3 } },
      messageStop
    ],
    [7, 3],
    [0, 3]
  ),
  completeStream(
    "reports cache writes and cache reads",
    [messageStart({ usage: usage(1, 3, { written: 2, read: 4 }) }), ...words, messageDelta(3), messageStop],
    [7, 3]
  )
]

faultSuite(
  messagesDialect,
  [...eventStreamFaults(messagesWire), ...ofMessages, ...eventWholeResponseFaults(messagesWire), ...refusalFaults],
  150
)
