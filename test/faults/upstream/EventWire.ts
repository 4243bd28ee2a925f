/**
 * The wire of a protocol with named events, as far as the fault tables need it to write valid and invalid responses.
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
  /** All events of a stream, with one word in each content event. Without `usage` none is reported. */
  readonly events: (words: ReadonlyArray<string>, usage?: object) => ReadonlyArray<WireEvent>
  readonly isWord: (event: WireEvent) => boolean
  /** A whole response with this value as its usage. */
  readonly answer: (text: string, usage?: unknown) => object
  /** Events that replace the rest of a response. */
  readonly failures: Readonly<Record<string, WireEvent>>
  readonly limit: WireEvent
  /** The cost of a cut stream that reported a prompt of 7 as early as its protocol allows. */
  readonly dueWhenCut: Due
  /** The usage that clients read from a stream without reported usage. */
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
    "an error": errorOf(indiscretion.error.message, "api_error"),
    "an overload": errorOf(indiscretion.error.message, "overloaded_error"),
    "an error of another protocol": { type: "error", ...indiscretion }
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
    "an error": { type: "error", code: "server_error", message: indiscretion.error.message, param: null },
    "an error inside": { type: "error", ...indiscretion },
    "a response that failed": {
      type: "response.failed",
      response: { ...begun(), status: "failed", error: { ...indiscretion.error, code: "server_error" } }
    },
    "a response that failed without a reason": { type: "response.failed" }
  },
  limit: { type: "error", code: "rate_limit_exceeded", message: "kwyjibo", param: null },
  dueWhenCut: "what arrived",
  usageUntold: {}
}
