/**
 * Defines the wire format of the messages and responses protocols, whose streams consist of named events.
 */
import {
  errorOf,
  message,
  messageEvents,
  ping,
  usage as usageOfMessage,
  type WireEvent
} from "../../support/upstream/MessagesWire.ts"
import { begun, response, responseEvents, responsesUsage } from "../../support/upstream/ResponsesWire.ts"
import type { ExpectedCharge } from "./Fault.ts"
import { identifyingError } from "./IdentifyingData.ts"

export interface EventWire {
  readonly usage: (prompt: number, output: number) => object
  /**
   * Returns the events of a whole stream, without pings. Each delta has one word. Without `usage`, none is reported.
   */
  readonly events: (words: ReadonlyArray<string>, usage?: object) => ReadonlyArray<WireEvent>
  readonly isWord: (event: WireEvent) => boolean
  /** Returns a whole response with this value as its usage. */
  readonly whole: (text: string, usage?: unknown) => object
  /** Events that report a failure and end the response. Each key is the name of its event in the test labels. */
  readonly failures: Readonly<Record<string, WireEvent>>
  readonly limit: WireEvent
  /**
   * The charge for a stream that is cut after a word. In the messages protocol the first event reports 7 prompt tokens.
   * In the responses protocol only the last event reports usage.
   */
  readonly chargeWhenCut: ExpectedCharge
  /** The usage that the client reads in a stream whose upstream reports none; empty if the client reads no usage. */
  readonly usageUnreported: { readonly usage?: readonly [number, number] }
}

export const messagesWire: EventWire = {
  usage: usageOfMessage,
  events: (content, usage) => {
    const events = messageEvents({ content, usage: usage as ReturnType<typeof usageOfMessage> | undefined })
    return events.filter((event) => event !== ping)
  },
  isWord: ({ type }) => type === "content_block_delta",
  whole: (text, usage) => ({ ...message({ content: [text] }), ...(usage === undefined ? {} : { usage }) }),
  failures: {
    "an error event": errorOf(identifyingError.error.message, "api_error"),
    "an overload event": errorOf(identifyingError.error.message, "overloaded_error"),
    "an error event of another protocol": { type: "error", ...identifyingError }
  },
  limit: errorOf("kwyjibo", "rate_limit_error"),
  chargeWhenCut: { prompt: 7 },
  usageUnreported: { usage: [0, 0] }
}

export const responsesWire: EventWire = {
  usage: responsesUsage,
  events: (content, usage) =>
    responseEvents({ content, usage: usage as ReturnType<typeof responsesUsage> | undefined }),
  isWord: ({ type }) => type === "response.output_text.delta",
  whole: (text, usage) => response({ content: [text] }, usage === undefined ? {} : { usage }),
  failures: {
    "an error event": { type: "error", code: "server_error", message: identifyingError.error.message, param: null },
    "an error event with a nested error": { type: "error", ...identifyingError },
    "a failed response event": {
      type: "response.failed",
      response: { ...begun(), status: "failed", error: { ...identifyingError.error, code: "server_error" } }
    },
    "a failed response event without a reason": { type: "response.failed" }
  },
  limit: { type: "error", code: "rate_limit_exceeded", message: "kwyjibo", param: null },
  chargeWhenCut: "delivered content",
  usageUnreported: {}
}
