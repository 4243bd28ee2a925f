import { describe, expect, it } from "vitest"
import { chunk, usage, usageChunk } from "../../../support/upstream/ChatWire.ts"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import { heartbeats } from "../../../support/upstream/Heartbeats.ts"
import { deltaChunk, finished, sse, type TranslatedStream, translatedStream, usageFrame } from "./TranslatedStream.ts"

interface Row {
  readonly name: string
  /** The provider's bytes. */
  readonly sent: string
  readonly includeUsage?: boolean | null
  readonly frames: ReadonlyArray<unknown>
  readonly end?: string
}

const begin = chunk({ role: "assistant", content: "" })
const hi = chunk({ content: "hi" })
const stop = chunk({}, "stop")
const writtenBegin = deltaChunk({ role: "assistant", content: "" })
const writtenHi = deltaChunk({ content: "hi" })
const writtenFirstHi = deltaChunk({ role: "assistant", content: "hi" })
const writtenStop = finished("stop")
const whole = [begin, hi, stop, "[DONE]"]
const writtenWhole = [writtenBegin, writtenHi, writtenStop, "[DONE]"]

const choices = (...items: ReadonlyArray<object>) => ({ ...hi, choices: items })
const call = (...deltas: ReadonlyArray<object>) => chunk({ tool_calls: deltas })
const writtenCall = (...deltas: ReadonlyArray<object>) => deltaChunk({ tool_calls: deltas })

const rows: ReadonlyArray<ReadonlyArray<Row>> = [
  [
    {
      name: "content, finish reason, usage and [DONE] are written in this order",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 2)), "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    }
  ],
  [
    {
      name: "a null usage is removed from chunks",
      sent: sse({ ...begin, usage: null }, { ...hi, usage: null }, { ...stop, usage: null }, "[DONE]"),
      includeUsage: true,
      frames: writtenWhole
    }
  ],
  [
    {
      name: "cumulative usage is written once with its last value",
      sent: sse(
        { ...begin, usage: usage(7, 0) },
        { ...hi, usage: usage(7, 1) },
        { ...stop, usage: usage(7, 2) },
        "[DONE]"
      ),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    },
    {
      name: "usage counts that fall to zero are ignored",
      sent: sse({ ...begin, usage: usage(7, 2) }, hi, { ...stop, usage: usage(0, 0) }, "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    }
  ],
  [
    {
      name: "usage beside a finish reason is written in a separate chunk",
      sent: sse(begin, hi, { ...stop, usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    },
    {
      name: "usage in the member `x_groq` is read",
      sent: sse(begin, hi, { ...stop, x_groq: { id: "req_1", usage: usage(7, 2) } }, "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    }
  ],
  [
    {
      name: "a usage chunk without choices adds no choice",
      sent: sse(...whole.slice(0, 3), { usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...writtenWhole.slice(0, 3), usageFrame(7, 2), "[DONE]"]
    },
    {
      name: "a usage chunk with null choices adds no choice",
      sent: sse(...whole.slice(0, 3), { ...hi, choices: null, usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...writtenWhole.slice(0, 3), usageFrame(7, 2), "[DONE]"]
    },
    {
      name: "a usage chunk with an empty choice adds no choice",
      sent: sse(...whole.slice(0, 3), { ...chunk({}), usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...writtenWhole.slice(0, 3), usageFrame(7, 2), "[DONE]"]
    }
  ],
  [
    {
      name: "usage before the finish reason is written after it",
      sent: sse(begin, hi, usageChunk(usage(7, 2)), stop, "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    },
    {
      name: "usage that is reported twice is written once",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 1)), usageChunk(usage(7, 2)), "[DONE]"),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    }
  ],
  [
    {
      name: "no usage is written if the provider reported none",
      sent: sse(...whole),
      includeUsage: true,
      frames: writtenWhole
    },
    {
      name: "usage without prompt tokens is not written",
      sent: sse(...whole.slice(0, 3), { usage: { completion_tokens: 2 } }, "[DONE]"),
      includeUsage: true,
      frames: writtenWhole
    }
  ],
  [undefined, null, false].map((includeUsage) => ({
    name: `usage is not written if include_usage is ${includeUsage}`,
    sent: sse(begin, hi, stop, usageChunk(usage(7, 2)), "[DONE]"),
    ...(includeUsage === undefined ? {} : { includeUsage }),
    frames: writtenWhole
  })),
  [
    {
      name: "content beside a finish reason is written in a separate chunk",
      sent: sse(begin, chunk({ content: "hi" }, "stop"), "[DONE]"),
      frames: writtenWhole
    }
  ],
  [{ content: "" }, { role: "assistant" }, { content: null, role: "assistant" }]
    .map((delta) => ({
      name: `the delta ${JSON.stringify(delta)} beside a finish reason is written as empty`,
      sent: sse(begin, hi, chunk(delta, "stop"), "[DONE]"),
      frames: writtenWhole
    }))
    .concat({
      name: "a null delta beside a finish reason is written as empty",
      sent: sse(begin, hi, choices({ index: 0, delta: null, finish_reason: "stop" }), "[DONE]"),
      frames: writtenWhole
    }),
  [
    {
      name: "only the first finish reason of a choice is written",
      sent: sse(begin, hi, stop, chunk({}, "length"), stop, "[DONE]"),
      frames: writtenWhole
    },
    {
      name: "content after a finish reason is passed on",
      sent: sse(begin, stop, hi, "[DONE]"),
      frames: [writtenBegin, writtenStop, writtenHi, "[DONE]"]
    }
  ],
  [
    {
      name: "the finish reason `stop` is added if [DONE] follows content",
      sent: sse(begin, hi, "[DONE]"),
      frames: writtenWhole
    },
    {
      name: "the finish reason `tool_calls` is added if [DONE] follows tool calls",
      sent: sse(begin, call({ index: 0, id: "call_1", type: "function", function: { name: "f" } }), "[DONE]"),
      frames: [
        writtenBegin,
        writtenCall({ index: 0, id: "call_1", type: "function", function: { name: "f" } }),
        finished("tool_calls"),
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "a missing [DONE] after the finish reason is accepted",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 2))),
      includeUsage: true,
      frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
    },
    { name: "a missing blank line at the end is accepted", sent: sse(...whole).trimEnd(), frames: writtenWhole },
    {
      name: "an incomplete usage chunk after the finish reason is ignored",
      sent: `${sse(begin, hi, stop)}data: {"choices":[],"usa`,
      includeUsage: true,
      frames: writtenWhole
    }
  ],
  [
    {
      name: "an end before the finish reason is a failure",
      sent: sse(begin, hi),
      frames: [writtenBegin, writtenHi],
      end: "UpstreamFailed"
    },
    {
      name: "an end inside a chunk is a failure",
      sent: `${sse(begin, hi)}data: {"choices":[{"index":0,"delta":{"content":"hal`,
      frames: [writtenBegin, writtenHi],
      end: "UpstreamFailed"
    },
    {
      name: "a missing finish reason of one choice is a failure",
      sent: sse(hi, chunk({}, "stop"), choices({ index: 1, delta: { content: "ho" }, finish_reason: null })),
      frames: [writtenFirstHi, writtenStop, deltaChunk({ role: "assistant", content: "ho" }, 1)],
      end: "UpstreamFailed"
    }
  ],
  [
    { name: "[DONE] without any chunk is a failure", sent: sse("[DONE]"), frames: [], end: "UpstreamFailed" },
    { name: "an end before the first byte is a failure", sent: "", frames: [], end: "UpstreamFailed" },
    {
      name: "a role without content is a failure",
      sent: sse(begin, "[DONE]"),
      frames: [writtenBegin],
      end: "UpstreamFailed"
    }
  ],
  [
    {
      name: "SSE comments, blank lines, ids and retry times are dropped",
      sent: `: OPENROUTER PROCESSING\n\n\n\n${sse(begin)}id: 7\nretry: 10\n${sse(hi)}:\n\nid\n\n${sse(stop, "[DONE]")}`,
      frames: writtenWhole
    }
  ],
  [
    {
      name: "objects that are not chunks are dropped",
      sent: `event: ping\ndata: {}\n\ndata:\n\n${sse({ type: "ping" }, begin, { hello: 1 }, hi, stop, "[DONE]")}`,
      frames: writtenWhole
    },
    {
      name: "heartbeats are dropped",
      sent: [begin, hi, stop, "[DONE]"].map((frame) => `${heartbeats}${sse(frame)}`).join(""),
      frames: writtenWhole
    },
    {
      name: "a broken chunk in a heartbeat is dropped, but not a broken chunk without a name",
      sent: `${sse(begin, hi)}event: ping\ndata: {"choices":[\n\n${sse('{"choices":[', stop, "[DONE]")}`,
      frames: [writtenBegin, writtenHi],
      end: "UpstreamFailed"
    }
  ],
  emptyErrors.map((error) => ({
    name: `an empty error next to choices is ignored: ${JSON.stringify(error)}`,
    sent: sse(
      ...[begin, hi, stop, usageChunk(usage(7, 2))].map((frame) => ({
        ...frame,
        choices: frame.choices.map((choice) => ({ ...choice, error })),
        error
      })),
      "[DONE]"
    ),
    includeUsage: true,
    frames: [writtenBegin, writtenHi, writtenStop, usageFrame(7, 2), "[DONE]"]
  })),
  [
    {
      name: "a missing space after `data:` is accepted",
      sent: sse(...whole).replaceAll("data: ", "data:"),
      frames: writtenWhole
    },
    { name: "lines that end in CRLF are accepted", sent: sse(...whole).replaceAll("\n", "\r\n"), frames: writtenWhole },
    { name: "lines that end in CR are accepted", sent: sse(...whole).replaceAll("\n", "\r"), frames: writtenWhole },
    { name: "a byte order mark is skipped", sent: `\ufeff${sse(...whole)}`, frames: writtenWhole },
    {
      name: "data on several lines is joined",
      sent: `data: {"choices":[{"index":0,\ndata: "delta":{"content":"hi"}}]}\n\n${sse(stop, "[DONE]")}`,
      frames: [writtenFirstHi, writtenStop, "[DONE]"]
    },
    { name: "an `event: message` line is ignored", sent: `event: message\n${sse(...whole)}`, frames: writtenWhole }
  ],
  [
    {
      name: "multi-byte characters are kept",
      sent: sse(chunk({ content: "dé日👩‍👩‍👧" }), stop, "[DONE]"),
      frames: [deltaChunk({ role: "assistant", content: "dé日👩‍👩‍👧" }), writtenStop, "[DONE]"]
    }
  ],
  [
    {
      name: "a first chunk with only filter results is dropped",
      sent: sse(
        { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0 }] },
        ...whole
      ),
      frames: writtenWhole
    }
  ],
  [
    {
      name: "members that identify the provider are removed",
      sent: sse(
        {
          ...choices({
            index: 0,
            delta: { role: "assistant", content: "hi", provider_specific_fields: { a: 1 } },
            finish_reason: null,
            native_finish_reason: "end",
            content_filter_results: {}
          }),
          provider: "Azure",
          system_fingerprint: "fp_1",
          service_tier: "default",
          cost: 0.1,
          obfuscation: "xyz",
          x_groq: { id: "req_1" },
          anything: 1
        },
        stop,
        "[DONE]"
      ),
      frames: [writtenFirstHi, writtenStop, "[DONE]"]
    }
  ],
  [
    {
      name: "reasoning, refusals, annotations and audio in deltas are kept",
      sent: sse(
        chunk({ role: "assistant", reasoning_content: "hm", annotations: [{ type: "url_citation" }] }),
        chunk({ reasoning: "so", refusal: null, audio: { id: "a", transcript: "la" }, content: "x" }),
        stop,
        "[DONE]"
      ),
      frames: [
        deltaChunk({ role: "assistant", reasoning_content: "hm", annotations: [{ type: "url_citation" }] }),
        deltaChunk({ reasoning: "so", refusal: null, audio: { id: "a", transcript: "la" }, content: "x" }),
        writtenStop,
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "reasoning details lose only the members that identify the provider",
      sent: sse(
        chunk({ reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s", provider: "Bedrock" }] }),
        stop,
        "[DONE]"
      ),
      frames: [
        deltaChunk({ role: "assistant", reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s" }] }),
        writtenStop,
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "a missing role is added to the first delta",
      sent: sse(hi, hi, stop, "[DONE]"),
      frames: [writtenFirstHi, writtenHi, writtenStop, "[DONE]"]
    },
    {
      name: "a missing role is added before the finish reason",
      sent: sse(stop, "[DONE]"),
      frames: [deltaChunk({ role: "assistant" }), writtenStop, "[DONE]"]
    }
  ],
  [
    {
      name: "a repeated role is written only in the first chunk",
      sent: sse(
        chunk({ role: "assistant", content: "a" }),
        chunk({ role: "assistant", content: "b" }),
        chunk({ role: null, content: "c" }),
        chunk({ role: "assistant", content: "" }, "stop"),
        "[DONE]"
      ),
      frames: [
        deltaChunk({ role: "assistant", content: "a" }),
        deltaChunk({ content: "b" }),
        deltaChunk({ content: "c" }),
        writtenStop,
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "tool calls without an index are numbered",
      sent: sse(
        begin,
        call({ id: "call_1", function: { name: "f", arguments: "" } }),
        call({ function: { arguments: "{}" } }),
        call({ id: "call_2", function: { name: "g", arguments: "{" } }, { function: { arguments: "}" } }),
        call({ id: "call_1", function: { arguments: " " } }),
        chunk({}, "tool_calls"),
        "[DONE]"
      ),
      frames: [
        writtenBegin,
        writtenCall({ id: "call_1", function: { name: "f", arguments: "" }, index: 0, type: "function" }),
        writtenCall({ function: { arguments: "{}" }, index: 0 }),
        writtenCall(
          { id: "call_2", function: { name: "g", arguments: "{" }, index: 1, type: "function" },
          { function: { arguments: "}" }, index: 1 }
        ),
        writtenCall({ id: "call_1", function: { arguments: " " }, index: 0 }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      name: "a name without an id starts a new tool call",
      sent: sse(
        begin,
        call({ function: { name: "f" } }),
        call({ function: { arguments: "1" } }),
        call({ function: { name: "g" } }),
        "[DONE]"
      ),
      frames: [
        writtenBegin,
        writtenCall({ function: { name: "f" }, index: 0, type: "function" }),
        writtenCall({ function: { arguments: "1" }, index: 0 }),
        writtenCall({ function: { name: "g" }, index: 1, type: "function" }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      name: "parallel tool calls with the same index get different indexes",
      sent: sse(
        begin,
        call({ index: 0, id: "call_1", function: { name: "f", arguments: '{"city":"A"}' } }),
        call({ index: 0, id: "call_2", function: { name: "f", arguments: '{"city":' } }),
        call({ index: 0, function: { arguments: '"B"' } }, { index: 0, id: "call_2", function: { arguments: "}" } }),
        call({ index: 0, id: "call_1", function: { arguments: " " } }),
        call({ index: 1, id: "call_3", function: { name: "g", arguments: "{}" } }),
        "[DONE]"
      ),
      frames: [
        writtenBegin,
        writtenCall({ index: 0, id: "call_1", function: { name: "f", arguments: '{"city":"A"}' }, type: "function" }),
        writtenCall({ index: 1, id: "call_2", function: { name: "f", arguments: '{"city":' }, type: "function" }),
        writtenCall(
          { index: 1, function: { arguments: '"B"' } },
          { index: 1, id: "call_2", function: { arguments: "}" } }
        ),
        writtenCall({ index: 0, id: "call_1", function: { arguments: " " } }),
        writtenCall({ index: 2, id: "call_3", function: { name: "g", arguments: "{}" }, type: "function" }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      name: "a new id without a name does not start another tool call at the same index",
      sent: sse(
        begin,
        call({ index: 0, id: "call_1", function: { name: "f", arguments: "{" } }),
        call({ index: 0, id: "call_x", function: { arguments: "}" } }),
        "[DONE]"
      ),
      frames: [
        writtenBegin,
        writtenCall({ index: 0, id: "call_1", function: { name: "f", arguments: "{" }, type: "function" }),
        writtenCall({ index: 0, id: "call_x", function: { arguments: "}" } }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      name: "a call to a custom tool has the type `custom`",
      sent: sse(begin, call({ id: "call_1", custom: { name: "c", input: "x" } }), stop, "[DONE]"),
      frames: [
        writtenBegin,
        writtenCall({ id: "call_1", custom: { name: "c", input: "x" }, index: 0, type: "custom" }),
        writtenStop,
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "the finish reason `stop` is kept after tool calls",
      sent: sse(begin, call({ index: 0, id: "call_1", type: "function", function: { name: "f" } }), stop, "[DONE]"),
      frames: [
        writtenBegin,
        writtenCall({ index: 0, id: "call_1", type: "function", function: { name: "f" } }),
        writtenStop,
        "[DONE]"
      ]
    }
  ],
  [
    {
      name: "each interleaved choice gets a role and a finish reason",
      sent: sse(
        choices({ index: 1, delta: { content: "b" } }, { index: 0, delta: { content: "a" } }),
        chunk({}, "stop"),
        choices({ index: 1, delta: { content: "c" }, finish_reason: "length" }),
        "[DONE]"
      ),
      frames: [
        deltaChunk({ role: "assistant", content: "b" }, 1),
        deltaChunk({ role: "assistant", content: "a" }),
        writtenStop,
        deltaChunk({ content: "c" }, 1),
        finished("length", 1),
        "[DONE]"
      ]
    },
    {
      name: "choices without an index are numbered by their position",
      sent: sse(choices({ delta: { content: "a" } }, { delta: { content: "b" }, finish_reason: "stop" }), "[DONE]"),
      frames: [
        deltaChunk({ role: "assistant", content: "a" }),
        deltaChunk({ role: "assistant", content: "b" }, 1),
        finished("stop", 1),
        writtenStop,
        "[DONE]"
      ]
    },
    {
      name: "a choice with an invalid index is a failure",
      sent: sse(begin, choices({ index: -1, delta: { content: "b" } })),
      frames: [writtenBegin],
      end: "UpstreamFailed"
    }
  ],
  [
    [
      "an object with an `error` member",
      { error: { message: "Provider returned error", code: 502 } },
      "UpstreamFailed"
    ],
    ["an error that is a string", { error: "boom" }, "UpstreamFailed"],
    ["an empty error without choices", { error: {} }, "UpstreamFailed"],
    ["an empty error next to empty choices", { choices: [], error: "" }, "UpstreamFailed"],
    ["an object whose member `object` is `error`", { object: "error", message: "boom", code: 50001 }, "UpstreamFailed"],
    ["a rate-limit error with the code 429", { error: { message: "Rate limit", code: 429 } }, "TechnicalLimit"],
    [
      "a rate-limit error with the type `rate_limit_error`",
      { error: { message: "x", type: "rate_limit_error" } },
      "TechnicalLimit"
    ],
    [
      "an error next to choices",
      { ...chunk({ content: "" }, "error"), error: { code: 502, message: "x" } },
      "UpstreamFailed"
    ],
    ["an error in a choice", choices({ index: 0, delta: {}, error: { code: 502 } }), "UpstreamFailed"],
    [
      "an error in one of two choices",
      choices({ index: 0, delta: { content: "lost" } }, { index: 1, delta: {}, finish_reason: "error" }),
      "UpstreamFailed"
    ],
    ["an error for an invalid request", { error: { code: 400, message: "x" } }, "UpstreamRejected"],
    ["an error as the finish reason", chunk({ content: "lost" }, "error"), "UpstreamFailed"],
    ["the finish reason insufficient_system_resource", chunk({}, "insufficient_system_resource"), "UpstreamFailed"],
    ["the finish reason network_error", chunk({}, "network_error"), "UpstreamFailed"],
    ["the finish reason abort", chunk({}, "abort"), "UpstreamFailed"]
  ]
    .map(([kind, frame, end]) => ({
      name: `${kind} is a failure`,
      sent: sse(begin, hi, frame as object, hi, stop, "[DONE]"),
      frames: [writtenBegin, writtenHi],
      end: end as string
    }))
    .concat({
      name: "an event with the name `error` is a failure",
      sent: `${sse(begin, hi)}event: error\ndata: {"message":"overloaded"}\n\n${sse(stop, "[DONE]")}`,
      frames: [writtenBegin, writtenHi],
      end: "UpstreamFailed"
    }),
  [
    ["eos", "stop"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["MAX_TOKENS", "length"],
    ["tool_use", "tool_calls"],
    ["SAFETY", "content_filter"],
    ["sensitive", "content_filter"],
    ["content_filter", "content_filter"],
    ["function_call", "function_call"],
    ["unknown", "stop"]
  ]
    .map(([given, reason]) => ({
      name: `the finish reason ${given} becomes ${reason}`,
      sent: sse(begin, hi, chunk({}, given as string), "[DONE]"),
      frames: [writtenBegin, writtenHi, finished(reason as string), "[DONE]"]
    }))
    .concat({
      name: "an empty finish reason is ignored",
      sent: sse(begin, chunk({ content: "hi" }, ""), stop, "[DONE]"),
      frames: writtenWhole
    }),
  [
    {
      name: "the members `id`, `object`, `created` and `model` come from the gateway",
      sent: sse(
        { ...begin, object: "", id: "", model: "" },
        { choices: hi.choices },
        { ...stop, created: "x" },
        "[DONE]"
      ),
      frames: writtenWhole
    }
  ],
  [
    { name: "spaces after [DONE] are accepted", sent: sse(begin, hi, stop, "[DONE] "), frames: writtenWhole },
    { name: "data after [DONE] is ignored", sent: sse(...whole, hi, "[DONE]", "{"), frames: writtenWhole }
  ],
  [
    {
      name: "an event that is not JSON is a failure",
      sent: sse(begin, "{oops", hi),
      frames: [writtenBegin],
      end: "UpstreamFailed"
    },
    {
      name: "an event that is not an object is a failure",
      sent: sse(begin, "[1]", hi),
      frames: [writtenBegin],
      end: "UpstreamFailed"
    }
  ],
  [
    {
      name: "log probabilities stay in the chunk with their content",
      sent: sse(
        choices({
          index: 0,
          delta: { content: "hi" },
          logprobs: { content: [{ token: "hi" }] },
          finish_reason: "stop"
        }),
        "[DONE]"
      ),
      frames: [
        deltaChunk({ role: "assistant", content: "hi" }, 0, { logprobs: { content: [{ token: "hi" }] } }),
        writtenStop,
        "[DONE]"
      ]
    },
    {
      name: "log probabilities without text are written",
      sent: sse(choices({ index: 0, delta: { content: "" }, logprobs: { content: [1] } }), hi, stop, "[DONE]"),
      frames: [deltaChunk({ role: "assistant" }, 0, { logprobs: { content: [1] } }), writtenHi, writtenStop, "[DONE]"]
    },
    {
      name: "log probabilities beside a finish reason stay beside it",
      sent: sse(hi, choices({ index: 0, delta: {}, logprobs: { content: [] }, finish_reason: "stop" }), "[DONE]"),
      frames: [writtenFirstHi, finished("stop", 0, { logprobs: { content: [] } }), "[DONE]"]
    }
  ],
  [
    {
      name: "empty deltas are dropped",
      sent: sse(chunk({}), begin, chunk({}), hi, chunk({ content: "" }), stop, "[DONE]"),
      frames: writtenWhole
    }
  ]
]

const table = rows.flat().map((row) => [row.name, row] as const)

const expected = ({ frames, end = "complete" }: Row) => ({ frames, end })
const written = ({ frames, end }: TranslatedStream) => ({ frames, end })

describe("in a chat stream", () => {
  it.each(table)("%s", (_, row) => {
    expect(written(translatedStream([Buffer.from(row.sent)], row.includeUsage))).toEqual(expected(row))
  })

  it("a line that never ends is a failure", () => {
    const mebibyte = Buffer.alloc(1024 * 1024, "x")
    const chunks = [Buffer.from(`${sse(begin, hi)}data: {"a":"`), ...Array(9).fill(mebibyte)]
    expect(written(translatedStream(chunks))).toEqual({ frames: [writtenBegin, writtenHi], end: "UpstreamFailed" })
  })
})

describe("in a chat stream divided at any byte", () => {
  it.each(table)("%s", (_, row) => {
    const bytes = Buffer.from(row.sent)
    const uncut = translatedStream([bytes], row.includeUsage).trace
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(translatedStream([bytes.subarray(0, cut), bytes.subarray(cut)], row.includeUsage).trace).toBe(uncut)
    }
    expect(
      translatedStream(
        [...bytes].map((byte) => Buffer.of(byte)),
        row.includeUsage
      ).trace
    ).toBe(uncut)
  })
})
