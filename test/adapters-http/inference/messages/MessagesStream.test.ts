import { describe, expect, it } from "vitest"
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
import { context, eventsOf, type Relayed, relayed, sse, traceOf } from "./relayed.ts"

interface Row {
  readonly says: string
  /** What the supplier sends. */
  readonly sent: string
  readonly told: ReadonlyArray<WireEvent>
  readonly end?: string
}

const start = messageStart({ usage: usage(7, 2) })
const started = messageStart({ usage: usage(7, 2), model: context.publicName })
const hi = textDelta("hi")
const ending = [blockStop(), messageDelta(2), messageStop]
const whole = [start, textStart, hi, ...ending]
const toldWhole = [started, textStart, hi, ...ending]
const begun = [start, textStart, hi]
const toldBegun = toldWhole.slice(0, 3)

const withMessage = (members: object): WireEvent => ({
  ...start,
  message: { ...(start.message as object), ...members }
})
const toldMessage = (members: object): WireEvent => ({
  ...started,
  message: { ...(started.message as object), ...members }
})
const dataOnly = (...events: ReadonlyArray<object>) => events.map((it) => `data: ${JSON.stringify(it)}\n\n`).join("")

const rows: { readonly [topic: string]: ReadonlyArray<Row> } = {
  events: [
    { says: "are passed on in their order", sent: sse(...whole), told: toldWhole },
    {
      says: "of every kind of block are passed on as they came",
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
      told: [
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
      says: "without their line get it from their type",
      sent: dataOnly(...whole),
      told: toldWhole
    },
    {
      says: "without a type get it from their line",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata: {}\n\n`,
      told: toldWhole
    },
    {
      says: "without data get it from their line too",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata:\n\n`,
      told: toldWhole
    },
    {
      says: "that are pings are passed on once the message has begun",
      sent: sse(ping, start, ping, textStart, hi, ping, ...ending),
      told: [started, ping, textStart, hi, ping, ...ending]
    },
    {
      says: "that clients do not know are dropped",
      sent: sse(start, { type: "content_block_paused", index: 0 }, textStart, hi, ...ending),
      told: toldWhole
    },
    {
      says: "of other protocols are dropped",
      sent: `${sse(...begun)}${dataOnly({ id: "x", choices: [{ delta: { content: "no" } }] })}${sse(...ending)}`,
      told: toldWhole
    },
    {
      says: "are over with the last one, whatever follows it",
      sent: `${sse(...whole)}event: data\ndata: [DONE]\n\n${sse(hi)}data: {`,
      told: toldWhole
    },
    {
      says: "may be mixed with marks of other protocols",
      sent: `${sse(...begun)}event: data\ndata: [DONE]\n\ndata: [DONE]\n\nevent: x-status\ndata: queued\n\n${sse(...ending)}`,
      told: toldWhole
    },
    {
      says: "keep members nobody knows",
      sent: sse(start, { ...textStart, later: [1] }, blockDelta({ type: "text_delta", text: "hi", p: "x" }), ...ending),
      told: [started, { ...textStart, later: [1] }, blockDelta({ type: "text_delta", text: "hi", p: "x" }), ...ending]
    }
  ],
  framing: [
    { says: "no space after the colon", sent: sse(...whole).replaceAll(": ", ":"), told: toldWhole },
    { says: "lines that end in CRLF", sent: sse(...whole).replaceAll("\n", "\r\n"), told: toldWhole },
    { says: "lines that end in CR", sent: sse(...whole).replaceAll("\n", "\r"), told: toldWhole },
    { says: "a byte order mark", sent: `\ufeff${sse(...whole)}`, told: toldWhole },
    {
      says: "comments, ids and retry times",
      sent: `: hello\n\nid: 7\nretry: 10\n${sse(...whole)}:\n\n`,
      told: toldWhole
    },
    {
      says: "data in several lines",
      sent: sse(...whole).replaceAll(',"index"', ',\ndata:   "index"'),
      told: toldWhole
    },
    {
      says: "characters of several bytes",
      sent: sse(start, textStart, textDelta("dé日👩‍👩‍👧\u2028"), ...ending),
      told: [started, textStart, textDelta("dé日👩‍👩‍👧\u2028"), ...ending]
    },
    { says: "a last blank line that is missing", sent: sse(...whole).trimEnd(), told: toldWhole }
  ],
  names: [
    {
      says: "the model has our name wherever it is told",
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
      told: [
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
      says: "a model that took over from another has our name, as the other one",
      sent: sse(start, blockStart({ type: "fallback", from: { model: "up-1" }, to: { model: "up-2" } }), ...ending),
      told: [
        started,
        blockStart({ type: "fallback", from: { model: context.publicName }, to: { model: context.publicName } }),
        ...ending
      ]
    },
    {
      says: "members that tell about the supplier are removed",
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
      told: [
        toldMessage({ usage: { ...usage(7, 2) } }),
        textStart,
        hi,
        blockStop(),
        { ...messageDelta(2), usage: { output_tokens: 2, server_tool_use: { web_search_requests: 1 } } },
        messageStop
      ]
    },
    {
      says: "the input of a tool is nobody's but the model's",
      sent: sse(
        start,
        blockStart({ type: "tool_use", id: "toolu_1", name: "f", input: { provider: "mine", model: "x" } }),
        ...ending
      ),
      told: [
        started,
        blockStart({ type: "tool_use", id: "toolu_1", name: "f", input: { provider: "mine", model: "x" } }),
        ...ending
      ]
    },
    {
      says: "ids keep their form without the marks of resellers, in call and result alike",
      sent: sse(
        withMessage({ id: "msg_bdrk_01AbC" }),
        toolStart("toolu_vrtx_01X", "f"),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_bdrk_01Y", content: [] }, 1),
        ...ending
      ),
      told: [
        toldMessage({ id: "msg_01AbC" }),
        toolStart("toolu_01X", "f"),
        blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_01Y", content: [] }, 1),
        ...ending
      ]
    },
    ...["gen-1763620000-abc", "", undefined].map((id) => ({
      says: `a message whose id is ${JSON.stringify(id)} gets one of ours`,
      sent: sse(withMessage({ id }), ...whole.slice(1)),
      told: [toldMessage({ id: "msg_ours" }), ...toldWhole.slice(1)]
    }))
  ],
  repairs: [
    {
      says: "usage nobody reported is told as none, where clients insist on it",
      sent: sse(messageStart(), textStart, hi, blockStop(), messageDelta(), messageStop),
      told: [
        toldMessage({ usage: { input_tokens: 0, output_tokens: 0 } }),
        textStart,
        hi,
        blockStop(),
        messageDelta(0),
        messageStop
      ]
    },
    {
      says: "a message that begins with nothing is one of the assistant",
      sent: sse({ type: "message_start" }, ...whole.slice(1)),
      told: [
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
        ...toldWhole.slice(1)
      ]
    }
  ],
  endings: [
    {
      says: "a stream that ends after its reason to stop is complete",
      sent: sse(...whole.slice(0, -1)),
      told: toldWhole
    },
    {
      says: "an event that was cut after the reason to stop spoils nothing",
      sent: `${sse(...whole.slice(0, -1))}event: message_stop\ndata: {"type":"mess`,
      told: toldWhole
    },
    {
      says: "a stream may end without a reason, if it says that it ends",
      sent: sse(...begun, blockStop(), messageStop),
      told: [...toldBegun, blockStop(), messageStop]
    },
    { says: "one that ends before that is broken", sent: sse(...begun), told: toldBegun, end: "UpstreamFailed" },
    {
      says: "one that ends after a block is broken",
      sent: sse(...begun, blockStop()),
      told: [...toldBegun, blockStop()],
      end: "UpstreamFailed"
    },
    {
      says: "one that ends after figures without a reason is broken",
      sent: sse(...begun, messageDelta(1, null)),
      told: [...toldBegun, messageDelta(1, null)],
      end: "UpstreamFailed"
    },
    {
      says: "one that is cut within an event is broken",
      sent: `${sse(...begun)}event: content_block_delta\ndata: {"type":"content_blo`,
      told: toldBegun,
      end: "UpstreamFailed"
    },
    { says: "nothing at all is a failure", sent: "", told: [], end: "UpstreamFailed" },
    { says: "nothing but a foreign end is a failure", sent: "data: [DONE]\n\n", told: [], end: "UpstreamFailed" },
    { says: "nothing but pings is a failure", sent: sse(ping, ping), told: [], end: "UpstreamFailed" },
    { says: "nothing but an end is a failure", sent: sse(messageStop), told: [], end: "UpstreamFailed" },
    {
      says: "an event before the beginning is a failure",
      sent: sse(textStart, ...whole),
      told: [],
      end: "UpstreamFailed"
    },
    {
      says: "a second beginning breaks the stream",
      sent: sse(...begun, ...whole),
      told: toldBegun,
      end: "UpstreamFailed"
    },
    ...['{"type":"content_block_delta",', "oops", "[1]", '"hi"', "5"].map((data) => ({
      says: `data that is ${data} breaks the stream`,
      sent: `${sse(...begun)}data: ${data}\n\n${sse(...ending)}`,
      told: toldBegun,
      end: "UpstreamFailed"
    })),
    {
      says: "data of a known event that is no JSON breaks the stream",
      sent: `${sse(...begun)}event: content_block_delta\ndata: oops\n\n${sse(...ending)}`,
      told: toldBegun,
      end: "UpstreamFailed"
    }
  ],
  errors: [
    ["an overload", sse(errorOf("Overloaded", "overloaded_error")), "UpstreamFailed"],
    ["a limit", sse(errorOf("slow down", "rate_limit_error")), "TechnicalLimit"],
    ["a request that is wrong after all", sse(errorOf("too long", "invalid_request_error")), "UpstreamRejected"],
    ["an error without its line", dataOnly(errorOf("boom", "api_error")), "UpstreamFailed"],
    ["an error of another protocol", dataOnly({ error: { message: "x", code: 429 } }), "TechnicalLimit"],
    ["an error that is a text", "event: error\ndata: Internal Server Error\n\n", "UpstreamFailed"],
    ["an error that is empty", "event: error\ndata:\n\n", "UpstreamFailed"],
    ["an error beside content", sse({ ...hi, error: { message: "boom" } }), "UpstreamFailed"]
  ].map(([kind = "", frame, end = ""]) => ({
    says: `${kind} breaks the stream, and nothing after it is told`,
    sent: `${sse(...begun)}${frame}${sse(hi, ...ending)}`,
    told: toldBegun,
    end
  }))
}

const table = Object.entries(rows).flatMap(([topic, cases]) => cases.map((it) => [topic, it.says, it] as const))

const seen = ({ text, end }: Relayed) => ({ told: eventsOf(text), end })

describe("a relayed message", () => {
  it.each(table)("%s: %s", (_, __, { sent, told, end = "complete" }) => {
    expect(seen(relayed([Buffer.from(sent)]))).toEqual({ told, end })
  })

  it.each(table)("%s: %s, byte by byte", (_, __, { sent }) => {
    const bytes = Buffer.from(sent)
    expect(traceOf(relayed([...bytes].map((byte) => Buffer.of(byte))))).toBe(traceOf(relayed([bytes])))
  })

  it.each(rows.framing?.map((row) => [row.says, row] as const) ?? [])("%s, cut anywhere", (_, { sent }) => {
    const bytes = Buffer.from(sent)
    const uncut = traceOf(relayed([bytes]))
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(traceOf(relayed([bytes.subarray(0, cut), bytes.subarray(cut)]))).toBe(uncut)
    }
  })

  it("keeps every byte of an event that names nobody", () => {
    const odd =
      '{ "index":0, "type" :"content_block_delta","delta":{"text":"\\u00e9\\/","type":"text_delta","n":12345678901234567890.0} }'
    const { text, content } = relayed([Buffer.from(`${sse(start, textStart)}data: ${odd}\n\n${sse(...ending)}`)])
    expect(text).toContain(`event: content_block_delta\ndata: ${odd}\n\n`)
    expect(content).toBe("é/")
  })

  it("breaks on what nobody can nest, and on an event that does not end", () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`
    const nested = `data: {"type":"message_delta","delta":{},"usage":${deep}}\n\n`
    expect(relayed([Buffer.from(sse(...begun) + nested)]).end).toBe("UpstreamFailed")
    const endless = [Buffer.from(`${sse(...begun)}data: {"a":"`), ...Array(9).fill(Buffer.alloc(1024 * 1024, "x"))]
    expect(seen(relayed(endless))).toEqual({ told: toldBegun, end: "UpstreamFailed" })
  })
})

describe("the usage of a relayed message", () => {
  const reported = (...events: ReadonlyArray<WireEvent>) => relayed([Buffer.from(sse(...events))]).usage

  it("is that of its beginning and its end", () => {
    const caching = messageStart({ usage: usage(5, 1, { written: 20, read: 300 }) })
    expect(reported(caching, textStart, hi, ...ending)).toEqual({
      prompt: { input: 5n, cacheWrite: 20n, cacheRead: 300n },
      output: 2n
    })
  })

  it("is that of its beginning when there is no end", () => {
    expect(reported(...begun)).toEqual({ prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n }, output: undefined })
  })

  it("is none when none was told, whatever the client is told then", () => {
    const silent = [messageStart(), textStart, hi, blockStop(), messageDelta(), messageStop]
    expect(reported(...silent)).toEqual({ prompt: undefined, output: undefined })
  })
})
