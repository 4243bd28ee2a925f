/**
 * The wire of a protocol whose streams are named events: what the tables of faults have to know to tell an answer in
 * it, and to tell it wrong.
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
  /** All events of a stream, a word each in those that are words; without usage none is reported. */
  readonly events: (words: ReadonlyArray<string>, usage?: object) => ReadonlyArray<WireEvent>
  readonly isWord: (event: WireEvent) => boolean
  /** A whole answer, with whatever is to stand for its usage. */
  readonly answer: (text: string, usage?: unknown) => object
  /** Events that stand where an answer should go on. */
  readonly failures: Readonly<Record<string, WireEvent>>
  readonly limit: WireEvent
  /** What a cut stream costs that reported a prompt of 7 as early as its protocol can. */
  readonly dueWhenCut: Due
  /** What clients read as the usage of a stream that reported none. */
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
