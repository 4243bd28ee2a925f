/**
 * Defines the wire format of the messages and responses protocols, whose streams consist of named events. The fault tables
 * use it to write valid and invalid responses.
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
import type { Due } from "./Fault.ts"
import { indiscretion } from "./Telltales.ts"

export interface EventWire {
  readonly usage: (prompt: number, output: number) => object
  /** Returns all events of a stream, with one word in each content event. No usage is reported if `usage` is absent. */
  readonly events: (words: ReadonlyArray<string>, usage?: object) => ReadonlyArray<WireEvent>
  /** Returns whether an event carries a word. */
  readonly isWord: (event: WireEvent) => boolean
  /** Returns a whole response with this value as its usage. */
  readonly answer: (text: string, usage?: unknown) => object
  /** Events that report a failure and end the response, by the label of the test. */
  readonly failures: Readonly<Record<string, WireEvent>>
  /** An event that reports a rate limit. */
  readonly limit: WireEvent
  /**
   * The charge for a cut stream. In the messages protocol the first event reports 7 prompt tokens. In the responses
   * protocol only the last event reports usage.
   */
  readonly dueWhenCut: Due
  /** The usage that the client reads when the upstream reports none. */
  readonly usageUntold: { readonly usage?: readonly [number, number] }
}

export const messagesWire: EventWire = {
  usage: usageOfMessage,
  events: (content, usage) => {
    const told = messageEvents({ content, usage: usage as ReturnType<typeof usageOfMessage> | undefined })
    return told.filter((event) => event !== ping)
  },
  isWord: ({ type }) => type === "content_block_delta",
  answer: (text, usage) => ({ ...message({ content: [text] }), ...(usage === undefined ? {} : { usage }) }),
  failures: {
    "an error event": errorOf(indiscretion.error.message, "api_error"),
    "an overload event": errorOf(indiscretion.error.message, "overloaded_error"),
    "an error event of another protocol": { type: "error", ...indiscretion }
  },
  limit: errorOf("kwyjibo", "rate_limit_error"),
  dueWhenCut: { prompt: 7 },
  usageUntold: { usage: [0, 0] }
}

export const responsesWire: EventWire = {
  usage: responsesUsage,
  events: (content, usage) =>
    responseEvents({ content, usage: usage as ReturnType<typeof responsesUsage> | undefined }),
  isWord: ({ type }) => type === "response.output_text.delta",
  answer: (text, usage) => response({ content: [text] }, usage === undefined ? {} : { usage }),
  failures: {
    "an error event": { type: "error", code: "server_error", message: indiscretion.error.message, param: null },
    "an error event with a nested error": { type: "error", ...indiscretion },
    "a failed response event": {
      type: "response.failed",
      response: { ...begun(), status: "failed", error: { ...indiscretion.error, code: "server_error" } }
    },
    "a failed response event without a reason": { type: "response.failed" }
  },
  limit: { type: "error", code: "rate_limit_exceeded", message: "kwyjibo", param: null },
  dueWhenCut: "what arrived",
  usageUntold: {}
}
