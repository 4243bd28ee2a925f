import { describe, expect, it } from "vitest"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import { heartbeats } from "../../../support/upstream/Heartbeats.ts"
import {
  blockDelta,
  blockStart,
  blockStop,
  errorOf,
  inputDelta,
  messageDelta,
  messageStart,
  messageStop,
  ping,
  textDelta,
  textStart,
  toolStart,
  usage,
  type WireEvent
} from "../../../support/upstream/MessagesWire.ts"
import { context, eventsOf, sse, type TranslatedStream, traceOf, translatedStream } from "./TranslatedStream.ts"

interface Row {
  readonly name: string
  /** The provider's bytes. */
  readonly sent: string
  readonly written: ReadonlyArray<WireEvent>
  readonly end?: string
}

const start = messageStart({ usage: usage(7, 2) })
const started = messageStart({ usage: usage(7, 2), model: context.publicName })
const hi = textDelta("hi")
const ending = [blockStop(), messageDelta(2), messageStop]
const whole = [start, textStart, hi, ...ending]
const writtenWhole = [started, textStart, hi, ...ending]
const unfinished = [start, textStart, hi]
const writtenUnfinished = writtenWhole.slice(0, 3)

const withMessage = (members: object): WireEvent => ({
  ...start,
  message: { ...(start.message as object), ...members }
})
const writtenMessage = (members: object): WireEvent => ({
  ...started,
  message: { ...(started.message as object), ...members }
})
const dataOnly = (...events: ReadonlyArray<object>) => events.map((it) => `data: ${JSON.stringify(it)}\n\n`).join("")

const rows: { readonly [topic: string]: ReadonlyArray<Row> } = {
  events: [
    { name: "events are passed on in their order", sent: sse(...whole), written: writtenWhole },
    {
      name: "blocks of several types are passed on unchanged",
      sent: sse(
        start,
        blockStart({ type: "thinking", thinking: "", signature: "" }),
        blockDelta({ type: "thinking_delta", thinking: "hm" }),
        blockDelta({ type: "signature_delta", signature: "EqQB" }),
        blockStop(),
        toolStart("toolu_1", "f", 1),
        inputDelta("", 1),
        inputDelta('{"a":1}', 1),
        blockStop(1),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ title: "T" }] }, 2),
        blockStop(2),
        messageDelta(9, "tool_use"),
        messageStop
      ),
      written: [
        started,
        blockStart({ type: "thinking", thinking: "", signature: "" }),
        blockDelta({ type: "thinking_delta", thinking: "hm" }),
        blockDelta({ type: "signature_delta", signature: "EqQB" }),
        blockStop(),
        toolStart("toolu_1", "f", 1),
        inputDelta("", 1),
        inputDelta('{"a":1}', 1),
        blockStop(1),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ title: "T" }] }, 2),
        blockStop(2),
        messageDelta(9, "tool_use"),
        messageStop
      ]
    },
    {
      name: "a missing `event:` line is added from the type",
      sent: dataOnly(...whole),
      written: writtenWhole
    },
    {
      name: "a missing type is added from the `event:` line",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata: {}\n\n`,
      written: writtenWhole
    },
    {
      name: "missing data is added from the `event:` line",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata:\n\n`,
      written: writtenWhole
    },
    {
      name: "`ping` events are passed on only after `message_start`",
      sent: sse(ping, start, ping, textStart, hi, ping, ...ending),
      written: [started, ping, textStart, hi, ping, ...ending]
    },
    {
      name: "events of unknown types are dropped",
      sent: sse(start, { type: "content_block_paused", index: 0 }, textStart, hi, ...ending),
      written: writtenWhole
    },
    {
      name: "events of other protocols are dropped",
      sent: `${sse(...unfinished)}${dataOnly({ id: "x", choices: [{ delta: { content: "no" } }] })}${sse(...ending)}`,
      written: writtenWhole
    },
    {
      name: "events after `message_stop` are ignored",
      sent: `${sse(...whole)}event: data\ndata: [DONE]\n\n${sse(hi)}data: {`,
      written: writtenWhole
    },
    {
      name: "end marks of other protocols are dropped",
      sent: `${sse(...unfinished)}event: data\ndata: [DONE]\n\ndata: [DONE]\n\nevent: x-status\ndata: queued\n\n${sse(...ending)}`,
      written: writtenWhole
    },
    ...emptyErrors.map((error) => ({
      name: `an empty error in an event becomes null: ${JSON.stringify(error)}`,
      sent: sse(...whole.map((event) => ({ ...event, error }))),
      written: writtenWhole.map((event) => ({ ...event, error: null }))
    })),
    {
      name: "an empty error without the members of an event is a failure",
      sent: `${sse(...unfinished)}data: {"error":{}}\n\n${sse(...ending)}`,
      written: writtenUnfinished,
      end: "UpstreamFailed"
    },
    {
      name: "heartbeats whose data is not JSON are dropped",
      sent: [...unfinished, ...ending].map((event) => `${heartbeats}${sse(event)}`).join(""),
      written: writtenWhole
    },
    {
      name: "unknown members of events are kept",
      sent: sse(start, { ...textStart, later: [1] }, blockDelta({ type: "text_delta", text: "hi", p: "x" }), ...ending),
      written: [
        started,
        { ...textStart, later: [1] },
        blockDelta({ type: "text_delta", text: "hi", p: "x" }),
        ...ending
      ]
    }
  ],
  framing: [
    {
      name: "a missing space after the colon is accepted",
      sent: sse(...whole).replaceAll(": ", ":"),
      written: writtenWhole
    },
    {
      name: "lines that end in CRLF are accepted",
      sent: sse(...whole).replaceAll("\n", "\r\n"),
      written: writtenWhole
    },
    { name: "lines that end in CR are accepted", sent: sse(...whole).replaceAll("\n", "\r"), written: writtenWhole },
    { name: "a byte order mark is skipped", sent: `\ufeff${sse(...whole)}`, written: writtenWhole },
    {
      name: "SSE comments, ids and retry times are dropped",
      sent: `: hello\n\nid: 7\nretry: 10\n${sse(...whole)}:\n\n`,
      written: writtenWhole
    },
    {
      name: "data on several lines is joined",
      sent: sse(...whole).replaceAll(',"index"', ',\ndata:   "index"'),
      written: writtenWhole
    },
    {
      name: "multi-byte characters are kept",
      sent: sse(start, textStart, textDelta("dé日👩‍👩‍👧\u2028"), ...ending),
      written: [started, textStart, textDelta("dé日👩‍👩‍👧\u2028"), ...ending]
    },
    { name: "a missing blank line at the end is accepted", sent: sse(...whole).trimEnd(), written: writtenWhole }
  ],
  names: [
    {
      name: "the model has its public name",
      sent: sse(
        start,
        textStart,
        hi,
        blockStop(),
        {
          ...messageDelta(2),
          model: "up",
          usage: { output_tokens: 2, iterations: [{ type: "message", model: "up" }] }
        },
        messageStop
      ),
      written: [
        started,
        textStart,
        hi,
        blockStop(),
        {
          ...messageDelta(2),
          model: context.publicName,
          usage: { output_tokens: 2, iterations: [{ type: "message", model: context.publicName }] }
        },
        messageStop
      ]
    },
    {
      name: "both models of a fallback have the public name",
      sent: sse(start, blockStart({ type: "fallback", from: { model: "up-1" }, to: { model: "up-2" } }), ...ending),
      written: [
        started,
        blockStart({ type: "fallback", from: { model: context.publicName }, to: { model: context.publicName } }),
        ...ending
      ]
    },
    {
      name: "members that identify the provider are removed",
      sent: sse(
        {
          ...withMessage({ usage: { ...usage(7, 2), service_tier: "standard", inference_geo: "eu" }, provider: "P" }),
          x_request: "r"
        },
        { ...textStart, content_block: { type: "text", text: "", provider_metadata: {} } },
        blockDelta({ type: "text_delta", text: "hi", vendor: "v" }),
        blockStop(),
        {
          ...messageDelta(2),
          usage: { output_tokens: 2, cost: 0.1, server_tool_use: { web_search_requests: 1, x_cost: 1 } }
        },
        { ...messageStop, "amazon-bedrock-invocationMetrics": { inputTokenCount: 7 } }
      ),
      written: [
        writtenMessage({ usage: { ...usage(7, 2) } }),
        textStart,
        hi,
        blockStop(),
        { ...messageDelta(2), usage: { output_tokens: 2, server_tool_use: { web_search_requests: 1 } } },
        messageStop
      ]
    },
    {
      name: "the input of a tool call is not changed",
      sent: sse(
        start,
        blockStart({ type: "tool_use", id: "toolu_1", name: "f", input: { provider: "mine", model: "x" } }),
        ...ending
      ),
      written: [
        started,
        blockStart({ type: "tool_use", id: "toolu_1", name: "f", input: { provider: "mine", model: "x" } }),
        ...ending
      ]
    },
    {
      name: "the marks of cloud platforms are removed from ids",
      sent: sse(
        withMessage({ id: "msg_bdrk_01AbC" }),
        toolStart("toolu_vrtx_01X", "f"),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_bdrk_01Y", content: [] }, 1),
        ...ending
      ),
      written: [
        writtenMessage({ id: "msg_01AbC" }),
        toolStart("toolu_01X", "f"),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_01Y", content: [] }, 1),
        ...ending
      ]
    },
    ...["gen-1763620000-abc", "", undefined].map((id) => ({
      name: `the message id ${JSON.stringify(id)} is replaced by the gateway's id`,
      sent: sse(withMessage({ id }), ...whole.slice(1)),
      written: [writtenMessage({ id: "msg_ours" }), ...writtenWhole.slice(1)]
    }))
  ],
  repairs: [
    {
      name: "unreported usage is written as 0",
      sent: sse(messageStart(), textStart, hi, blockStop(), messageDelta(), messageStop),
      written: [
        writtenMessage({ usage: { input_tokens: 0, output_tokens: 0 } }),
        textStart,
        hi,
        blockStop(),
        messageDelta(0),
        messageStop
      ]
    },
    {
      name: "the members that clients require are added to an empty `message_start`",
      sent: sse({ type: "message_start" }, ...whole.slice(1)),
      written: [
        {
          type: "message_start",
          message: {
            id: "msg_ours",
            type: "message",
            role: "assistant",
            model: context.publicName,
            content: [],
            usage: { input_tokens: 0, output_tokens: 0 }
          }
        },
        ...writtenWhole.slice(1)
      ]
    }
  ],
  endings: [
    {
      name: "an end after the stop reason is accepted",
      sent: sse(...whole.slice(0, -1)),
      written: writtenWhole
    },
    {
      name: "an incomplete event after the stop reason is ignored",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata: {"type":"mess`,
      written: writtenWhole
    },
    {
      name: "a missing stop reason before `message_stop` is accepted",
      sent: sse(...unfinished, blockStop(), messageStop),
      written: [...writtenUnfinished, blockStop(), messageStop]
    },
    {
      name: "an end before the stop reason is a failure",
      sent: sse(...unfinished),
      written: writtenUnfinished,
      end: "UpstreamFailed"
    },
    {
      name: "an end after a block is a failure",
      sent: sse(...unfinished, blockStop()),
      written: [...writtenUnfinished, blockStop()],
      end: "UpstreamFailed"
    },
    {
      name: "an end after `message_delta` without a stop reason is a failure",
      sent: sse(...unfinished, messageDelta(1, null)),
      written: [...writtenUnfinished, messageDelta(1, null)],
      end: "UpstreamFailed"
    },
    {
      name: "an end inside an event is a failure",
      sent: `${sse(...unfinished)}event: content_block_delta\ndata: {"type":"content_blo`,
      written: writtenUnfinished,
      end: "UpstreamFailed"
    },
    { name: "an end before the first byte is a failure", sent: "", written: [], end: "UpstreamFailed" },
    {
      name: "an end mark of another protocol without events is a failure",
      sent: "data: [DONE]\n\n",
      written: [],
      end: "UpstreamFailed"
    },
    { name: "pings without other events are a failure", sent: sse(ping, ping), written: [], end: "UpstreamFailed" },
    {
      name: "`message_stop` without other events is a failure",
      sent: sse(messageStop),
      written: [],
      end: "UpstreamFailed"
    },
    {
      name: "an event before `message_start` is a failure",
      sent: sse(textStart, ...whole),
      written: [],
      end: "UpstreamFailed"
    },
    {
      name: "a second `message_start` is a failure",
      sent: sse(...unfinished, ...whole),
      written: writtenUnfinished,
      end: "UpstreamFailed"
    },
    ...['{"type":"content_block_delta",', "oops", "[1]", '"hi"', "5"].map((data) => ({
      name: `an event with the data ${data} is a failure`,
      sent: `${sse(...unfinished)}data: ${data}\n\n${sse(...ending)}`,
      written: writtenUnfinished,
      end: "UpstreamFailed"
    })),
    {
      name: "invalid JSON in a known event is a failure",
      sent: `${sse(...unfinished)}event: content_block_delta\ndata: oops\n\n${sse(...ending)}`,
      written: writtenUnfinished,
      end: "UpstreamFailed"
    }
  ],
  errors: [
    ["an overload error", sse(errorOf("Overloaded", "overloaded_error")), "UpstreamFailed"],
    ["a rate-limit error", sse(errorOf("slow down", "rate_limit_error")), "TechnicalLimit"],
    ["an error for an invalid request", sse(errorOf("too long", "invalid_request_error")), "UpstreamRejected"],
    ["an error without an `event:` line", dataOnly(errorOf("boom", "api_error")), "UpstreamFailed"],
    ["an error of another protocol", dataOnly({ error: { message: "x", code: 429 } }), "TechnicalLimit"],
    ["an error that is not JSON", "event: error\ndata: Internal Server Error\n\n", "UpstreamFailed"],
    ["an error without data", "event: error\ndata:\n\n", "UpstreamFailed"],
    ["an error next to content", sse({ ...hi, error: { message: "boom" } }), "UpstreamFailed"]
  ].map(([kind = "", frame, end = ""]) => ({
    name: `${kind} is a failure`,
    sent: `${sse(...unfinished)}${frame}${sse(hi, ...ending)}`,
    written: writtenUnfinished,
    end
  }))
}

const table = Object.values(rows).flatMap((cases) => cases.map((row) => [row.name, row] as const))

const resultOf = ({ text, end }: TranslatedStream) => ({ written: eventsOf(text), end })

describe("in a messages stream", () => {
  it.each(table)("%s", (_, { sent, written, end = "complete" }) => {
    expect(resultOf(translatedStream([Buffer.from(sent)]))).toEqual({ written, end })
  })
})

describe("in a messages stream of one-byte chunks", () => {
  it.each(table)("%s", (_, { sent }) => {
    const bytes = Buffer.from(sent)
    expect(traceOf(translatedStream([...bytes].map((byte) => Buffer.of(byte))))).toBe(
      traceOf(translatedStream([bytes]))
    )
  })
})

describe("in a messages stream divided at any byte", () => {
  it.each(rows.framing?.map((row) => [row.name, row] as const) ?? [])("%s", (_, { sent }) => {
    const bytes = Buffer.from(sent)
    const uncut = traceOf(translatedStream([bytes]))
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(traceOf(translatedStream([bytes.subarray(0, cut), bytes.subarray(cut)]))).toBe(uncut)
    }
  })
})

describe("a messages stream", () => {
  it("keeps every byte of an event that does not identify the provider", () => {
    const odd =
      '{ "index":0, "type" :"content_block_delta","delta":{"text":"\\u00e9\\/","type":"text_delta","n":12345678901234567890.0} }'
    const { text, content } = translatedStream([
      Buffer.from(`${sse(start, textStart)}data: ${odd}\n\n${sse(...ending)}`)
    ])
    expect(text).toContain(`event: content_block_delta\ndata: ${odd}\n\n`)
    expect(content).toBe("é/")
  })

  it("fails on an event that is nested too deeply", () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`
    const nested = `data: {"type":"message_delta","delta":{},"usage":${deep}}\n\n`
    expect(translatedStream([Buffer.from(sse(...unfinished) + nested)]).end).toBe("UpstreamFailed")
  })

  it("fails on an event that never ends", () => {
    const endless = [Buffer.from(`${sse(...unfinished)}data: {"a":"`), ...Array(9).fill(Buffer.alloc(1024 * 1024, "x"))]
    expect(resultOf(translatedStream(endless))).toEqual({ written: writtenUnfinished, end: "UpstreamFailed" })
  })
})

describe("the usage of a messages stream", () => {
  const reported = (...events: ReadonlyArray<WireEvent>) => translatedStream([Buffer.from(sse(...events))]).usage

  it("combines `message_start` and `message_delta`", () => {
    const caching = messageStart({ usage: usage(5, 1, { written: 20, read: 300 }) })
    expect(reported(caching, textStart, hi, ...ending)).toEqual({
      prompt: { input: 5n, cacheWrite: 20n, cacheRead: 300n },
      output: 2n
    })
  })

  it("contains only the prompt of `message_start` if the stream is cut", () => {
    expect(reported(...unfinished)).toEqual({ prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n }, output: undefined })
  })

  it("is unreported if the provider reported none", () => {
    const silent = [messageStart(), textStart, hi, blockStop(), messageDelta(), messageStop]
    expect(reported(...silent)).toEqual({ prompt: undefined, output: undefined })
  })
})
