import { describe, expect, it } from "vitest"
import { chunk, usage, usageChunk } from "../../../support/upstream/ChatWire.ts"
import { finished, type Relayed, relayed, sse, told, usageTold } from "./relayed.ts"

interface Row {
  readonly says: string
  /** What the supplier sends. */
  readonly sent: string
  readonly includeUsage?: boolean | null
  readonly frames: ReadonlyArray<unknown>
  readonly end?: string
}

const begin = chunk({ role: "assistant", content: "" })
const hi = chunk({ content: "hi" })
const stop = chunk({}, "stop")
const toldBegin = told({ role: "assistant", content: "" })
const toldHi = told({ content: "hi" })
const toldFirstHi = told({ role: "assistant", content: "hi" })
const toldStop = finished("stop")
const whole = [begin, hi, stop, "[DONE]"]
const toldWhole = [toldBegin, toldHi, toldStop, "[DONE]"]

const choices = (...items: ReadonlyArray<object>) => ({ ...hi, choices: items })
const call = (...pieces: ReadonlyArray<object>) => chunk({ tool_calls: pieces })
const toldCall = (...pieces: ReadonlyArray<object>) => told({ tool_calls: pieces })

const rows: { readonly [row: string]: ReadonlyArray<Row> } = {
  N1: [
    {
      says: "chunks, finish, usage and [DONE] are told in this order",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 2)), "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    }
  ],
  N2: [
    {
      says: "a usage of null on chunks is left out",
      sent: sse({ ...begin, usage: null }, { ...hi, usage: null }, { ...stop, usage: null }, "[DONE]"),
      includeUsage: true,
      frames: toldWhole
    }
  ],
  N3: [
    {
      says: "a running usage is told once, at the end, with its last value",
      sent: sse(
        { ...begin, usage: usage(7, 0) },
        { ...hi, usage: usage(7, 1) },
        { ...stop, usage: usage(7, 2) },
        "[DONE]"
      ),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    },
    {
      says: "figures that fall back to zero in the last chunk do not count",
      sent: sse({ ...begin, usage: usage(7, 2) }, hi, { ...stop, usage: usage(0, 0) }, "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    }
  ],
  N4: [
    {
      says: "usage inside the finish chunk is told in a chunk of its own",
      sent: sse(begin, hi, { ...stop, usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    },
    {
      says: "usage in Groq's member is usage",
      sent: sse(begin, hi, { ...stop, x_groq: { id: "req_1", usage: usage(7, 2) } }, "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    }
  ],
  N5: [
    {
      says: "a usage chunk without choices is only usage",
      sent: sse(...whole.slice(0, 3), { usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...toldWhole.slice(0, 3), usageTold(7, 2), "[DONE]"]
    },
    {
      says: "a usage chunk whose choices are null is only usage",
      sent: sse(...whole.slice(0, 3), { ...hi, choices: null, usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...toldWhole.slice(0, 3), usageTold(7, 2), "[DONE]"]
    },
    {
      says: "a usage chunk with an empty choice is only usage",
      sent: sse(...whole.slice(0, 3), { ...chunk({}), usage: usage(7, 2) }, "[DONE]"),
      includeUsage: true,
      frames: [...toldWhole.slice(0, 3), usageTold(7, 2), "[DONE]"]
    }
  ],
  N6: [
    {
      says: "usage before the finish is told after it",
      sent: sse(begin, hi, usageChunk(usage(7, 2)), stop, "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    },
    {
      says: "usage told twice is told once, and the last one wins",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 1)), usageChunk(usage(7, 2)), "[DONE]"),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    }
  ],
  N7: [
    { says: "usage nobody reported is not made up", sent: sse(...whole), includeUsage: true, frames: toldWhole },
    {
      says: "usage reported in part is not made whole",
      sent: sse(...whole.slice(0, 3), { usage: { completion_tokens: 2 } }, "[DONE]"),
      includeUsage: true,
      frames: toldWhole
    }
  ],
  N8: [undefined, null, false].map((includeUsage) => ({
    says: `usage is not told to a client that said ${includeUsage}`,
    sent: sse(begin, hi, stop, usageChunk(usage(7, 2)), "[DONE]"),
    ...(includeUsage === undefined ? {} : { includeUsage }),
    frames: toldWhole
  })),
  N9: [
    {
      says: "content and finish in one chunk are told in two",
      sent: sse(begin, chunk({ content: "hi" }, "stop"), "[DONE]"),
      frames: toldWhole
    }
  ],
  N10: [{ content: "" }, { role: "assistant" }, { content: null, role: "assistant" }]
    .map((delta) => ({
      says: `a finish with ${JSON.stringify(delta)} has an empty delta`,
      sent: sse(begin, hi, chunk(delta, "stop"), "[DONE]"),
      frames: toldWhole
    }))
    .concat({
      says: "a finish whose delta is null has an empty one",
      sent: sse(begin, hi, choices({ index: 0, delta: null, finish_reason: "stop" }), "[DONE]"),
      frames: toldWhole
    }),
  N11: [
    {
      says: "of a repeated finish only the first is told",
      sent: sse(begin, hi, stop, chunk({}, "length"), stop, "[DONE]"),
      frames: toldWhole
    },
    {
      says: "content after a finish is paid for, so it is passed on",
      sent: sse(begin, stop, hi, "[DONE]"),
      frames: [toldBegin, toldStop, toldHi, "[DONE]"]
    }
  ],
  N12: [
    { says: "[DONE] after output stands for a finish", sent: sse(begin, hi, "[DONE]"), frames: toldWhole },
    {
      says: "[DONE] after tool calls stands for a finish for tool calls",
      sent: sse(begin, call({ index: 0, id: "call_1", type: "function", function: { name: "f" } }), "[DONE]"),
      frames: [
        toldBegin,
        toldCall({ index: 0, id: "call_1", type: "function", function: { name: "f" } }),
        finished("tool_calls"),
        "[DONE]"
      ]
    }
  ],
  N13: [
    {
      says: "a stream that ends after the finish, without [DONE], is complete",
      sent: sse(begin, hi, stop, usageChunk(usage(7, 2))),
      includeUsage: true,
      frames: [toldBegin, toldHi, toldStop, usageTold(7, 2), "[DONE]"]
    },
    { says: "a last blank line may be missing", sent: sse(...whole).trimEnd(), frames: toldWhole },
    {
      says: "a usage chunk cut after the finish spoils nothing",
      sent: `${sse(begin, hi, stop)}data: {"choices":[],"usa`,
      includeUsage: true,
      frames: toldWhole
    }
  ],
  N14: [
    {
      says: "a stream that ends before the finish is broken",
      sent: sse(begin, hi),
      frames: [toldBegin, toldHi],
      end: "UpstreamFailed"
    },
    {
      says: "a stream cut within a chunk is broken",
      sent: `${sse(begin, hi)}data: {"choices":[{"index":0,"delta":{"content":"hal`,
      frames: [toldBegin, toldHi],
      end: "UpstreamFailed"
    },
    {
      says: "a stream that ends with one choice of two unfinished is broken",
      sent: sse(hi, chunk({}, "stop"), choices({ index: 1, delta: { content: "ho" }, finish_reason: null })),
      frames: [toldFirstHi, toldStop, told({ role: "assistant", content: "ho" }, 1)],
      end: "UpstreamFailed"
    }
  ],
  N15: [
    { says: "nothing but [DONE] is a failure", sent: sse("[DONE]"), frames: [], end: "UpstreamFailed" },
    { says: "nothing at all is a failure", sent: "", frames: [], end: "UpstreamFailed" },
    {
      says: "a role alone and [DONE] is a failure",
      sent: sse(begin, "[DONE]"),
      frames: [toldBegin],
      end: "UpstreamFailed"
    }
  ],
  N16: [
    {
      says: "comments, blank lines, ids and retry times are dropped",
      sent: `: OPENROUTER PROCESSING\n\n\n\n${sse(begin)}id: 7\nretry: 10\n${sse(hi)}:\n\nid\n\n${sse(stop, "[DONE]")}`,
      frames: toldWhole
    }
  ],
  N17: [
    {
      says: "pings and what is no chunk are dropped",
      sent: `event: ping\ndata: {}\n\ndata:\n\n${sse({ type: "ping" }, begin, { hello: 1 }, hi, stop, "[DONE]")}`,
      frames: toldWhole
    }
  ],
  N18: [
    { says: "no space after `data:`", sent: sse(...whole).replaceAll("data: ", "data:"), frames: toldWhole },
    { says: "lines that end in CRLF", sent: sse(...whole).replaceAll("\n", "\r\n"), frames: toldWhole },
    { says: "lines that end in CR", sent: sse(...whole).replaceAll("\n", "\r"), frames: toldWhole },
    { says: "a byte order mark", sent: `\ufeff${sse(...whole)}`, frames: toldWhole },
    {
      says: "data in several lines",
      sent: `data: {"choices":[{"index":0,\ndata: "delta":{"content":"hi"}}]}\n\n${sse(stop, "[DONE]")}`,
      frames: [toldFirstHi, toldStop, "[DONE]"]
    },
    { says: "an event that is a message", sent: `event: message\n${sse(...whole)}`, frames: toldWhole }
  ],
  N19: [
    {
      says: "characters of several bytes stay whole wherever they are cut",
      sent: sse(chunk({ content: "dé日👩‍👩‍👧" }), stop, "[DONE]"),
      frames: [told({ role: "assistant", content: "dé日👩‍👩‍👧" }), toldStop, "[DONE]"]
    }
  ],
  N20: [
    {
      says: "a first chunk that only reports on filters is dropped",
      sent: sse(
        { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0 }] },
        ...whole
      ),
      frames: toldWhole
    }
  ],
  N21: [
    {
      says: "members that tell about the supplier are removed",
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
      frames: [toldFirstHi, toldStop, "[DONE]"]
    }
  ],
  N22: [
    {
      says: "members of deltas that nobody knows are kept",
      sent: sse(
        chunk({ role: "assistant", reasoning_content: "hm", annotations: [{ type: "url_citation" }] }),
        chunk({ reasoning: "so", refusal: null, audio: { id: "a", transcript: "la" }, content: "x" }),
        stop,
        "[DONE]"
      ),
      frames: [
        told({ role: "assistant", reasoning_content: "hm", annotations: [{ type: "url_citation" }] }),
        told({ reasoning: "so", refusal: null, audio: { id: "a", transcript: "la" }, content: "x" }),
        toldStop,
        "[DONE]"
      ]
    }
  ],
  N23: [
    {
      says: "reasoning details are kept for the next turn, without the supplier",
      sent: sse(
        chunk({ reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s", provider: "Bedrock" }] }),
        stop,
        "[DONE]"
      ),
      frames: [
        told({ role: "assistant", reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s" }] }),
        toldStop,
        "[DONE]"
      ]
    }
  ],
  N24: [
    {
      says: "a role that nobody said is added to the first delta",
      sent: sse(hi, hi, stop, "[DONE]"),
      frames: [toldFirstHi, toldHi, toldStop, "[DONE]"]
    },
    {
      says: "a role is told even when the finish comes first",
      sent: sse(stop, "[DONE]"),
      frames: [told({ role: "assistant" }), toldStop, "[DONE]"]
    }
  ],
  N25: [
    {
      says: "a role said in every chunk is told in the first",
      sent: sse(
        chunk({ role: "assistant", content: "a" }),
        chunk({ role: "assistant", content: "b" }),
        chunk({ role: null, content: "c" }),
        chunk({ role: "assistant", content: "" }, "stop"),
        "[DONE]"
      ),
      frames: [
        told({ role: "assistant", content: "a" }),
        told({ content: "b" }),
        told({ content: "c" }),
        toldStop,
        "[DONE]"
      ]
    }
  ],
  N26: [
    {
      says: "tool calls without index and type get them",
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
        toldBegin,
        toldCall({ id: "call_1", function: { name: "f", arguments: "" }, index: 0, type: "function" }),
        toldCall({ function: { arguments: "{}" }, index: 0 }),
        toldCall(
          { id: "call_2", function: { name: "g", arguments: "{" }, index: 1, type: "function" },
          { function: { arguments: "}" }, index: 1 }
        ),
        toldCall({ id: "call_1", function: { arguments: " " }, index: 0 }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      says: "tool calls without ids begin with their names",
      sent: sse(
        begin,
        call({ function: { name: "f" } }),
        call({ function: { arguments: "1" } }),
        call({ function: { name: "g" } }),
        "[DONE]"
      ),
      frames: [
        toldBegin,
        toldCall({ function: { name: "f" }, index: 0, type: "function" }),
        toldCall({ function: { arguments: "1" }, index: 0 }),
        toldCall({ function: { name: "g" }, index: 1, type: "function" }),
        finished("tool_calls"),
        "[DONE]"
      ]
    },
    {
      says: "a call of a custom tool is of that type",
      sent: sse(begin, call({ id: "call_1", custom: { name: "c", input: "x" } }), stop, "[DONE]"),
      frames: [
        toldBegin,
        toldCall({ id: "call_1", custom: { name: "c", input: "x" }, index: 0, type: "custom" }),
        toldStop,
        "[DONE]"
      ]
    }
  ],
  N27: [
    {
      says: "a finish of stop after tool calls is left as it is",
      sent: sse(begin, call({ index: 0, id: "call_1", type: "function", function: { name: "f" } }), stop, "[DONE]"),
      frames: [
        toldBegin,
        toldCall({ index: 0, id: "call_1", type: "function", function: { name: "f" } }),
        toldStop,
        "[DONE]"
      ]
    }
  ],
  N28: [
    {
      says: "several choices, mixed, each have a role and a finish of their own",
      sent: sse(
        choices({ index: 1, delta: { content: "b" } }, { index: 0, delta: { content: "a" } }),
        chunk({}, "stop"),
        choices({ index: 1, delta: { content: "c" }, finish_reason: "length" }),
        "[DONE]"
      ),
      frames: [
        told({ role: "assistant", content: "b" }, 1),
        told({ role: "assistant", content: "a" }),
        toldStop,
        told({ content: "c" }, 1),
        finished("length", 1),
        "[DONE]"
      ]
    },
    {
      says: "choices without an index are numbered by their place",
      sent: sse(choices({ delta: { content: "a" } }, { delta: { content: "b" }, finish_reason: "stop" }), "[DONE]"),
      frames: [
        told({ role: "assistant", content: "a" }),
        told({ role: "assistant", content: "b" }, 1),
        finished("stop", 1),
        toldStop,
        "[DONE]"
      ]
    },
    {
      says: "a choice whose index cannot be one breaks the stream",
      sent: sse(begin, choices({ index: -1, delta: { content: "b" } })),
      frames: [toldBegin],
      end: "UpstreamFailed"
    }
  ],
  N29: [
    ["an error member", { error: { message: "Provider returned error", code: 502 } }, "UpstreamFailed"],
    ["an error that is a text", { error: "boom" }, "UpstreamFailed"],
    ["an error of an old kind", { object: "error", message: "boom", code: 50001 }, "UpstreamFailed"],
    ["an error of a limit", { error: { message: "Rate limit", code: 429 } }, "TechnicalLimit"],
    ["an error of a limit by its type", { error: { message: "x", type: "rate_limit_error" } }, "TechnicalLimit"],
    [
      "an error next to choices",
      { ...chunk({ content: "" }, "error"), error: { code: 502, message: "x" } },
      "UpstreamFailed"
    ],
    ["an error in a choice", choices({ index: 0, delta: {}, error: { code: 502 } }), "UpstreamFailed"],
    [
      "an error in one choice of two",
      choices({ index: 0, delta: { content: "lost" } }, { index: 1, delta: {}, finish_reason: "error" }),
      "UpstreamFailed"
    ],
    ["an error that says the request is wrong", { error: { code: 400, message: "x" } }, "UpstreamRejected"],
    ["an error as the finish", chunk({ content: "lost" }, "error"), "UpstreamFailed"]
  ]
    .map(([kind, frame, end]) => ({
      says: `${kind} breaks the stream, and nothing after it is told`,
      sent: sse(begin, hi, frame as object, hi, stop, "[DONE]"),
      frames: [toldBegin, toldHi],
      end: end as string
    }))
    .concat({
      says: "an error event breaks the stream",
      sent: `${sse(begin, hi)}event: error\ndata: {"message":"overloaded"}\n\n${sse(stop, "[DONE]")}`,
      frames: [toldBegin, toldHi],
      end: "UpstreamFailed"
    }),
  N30: [
    ["eos", "stop"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["MAX_TOKENS", "length"],
    ["tool_use", "tool_calls"],
    ["SAFETY", "content_filter"],
    ["content_filter", "content_filter"],
    ["function_call", "function_call"],
    ["who_knows", "stop"]
  ]
    .map(([said, meant]) => ({
      says: `a finish of ${said} is ${meant}`,
      sent: sse(begin, hi, chunk({}, said as string), "[DONE]"),
      frames: [toldBegin, toldHi, finished(meant as string), "[DONE]"]
    }))
    .concat({
      says: "an empty finish is none",
      sent: sse(begin, chunk({ content: "hi" }, ""), stop, "[DONE]"),
      frames: toldWhole
    }),
  N31: [
    {
      says: "what frames a chunk is ours, whatever the supplier says",
      sent: sse(
        { ...begin, object: "", id: "", model: "" },
        { choices: hi.choices },
        { ...stop, created: "x" },
        "[DONE]"
      ),
      frames: toldWhole
    }
  ],
  N32: [
    { says: "[DONE] is understood with blanks after it", sent: sse(begin, hi, stop, "[DONE] "), frames: toldWhole },
    { says: "what follows [DONE] is ignored", sent: sse(...whole, hi, "[DONE]", "{"), frames: toldWhole }
  ],
  N33: [
    {
      says: "a frame that is no JSON breaks the stream",
      sent: sse(begin, "{oops", hi),
      frames: [toldBegin],
      end: "UpstreamFailed"
    },
    {
      says: "a frame that is no object breaks the stream",
      sent: sse(begin, "[1]", hi),
      frames: [toldBegin],
      end: "UpstreamFailed"
    }
  ],
  N36: [
    {
      says: "log probabilities stay with their content",
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
        told({ role: "assistant", content: "hi" }, 0, { logprobs: { content: [{ token: "hi" }] } }),
        toldStop,
        "[DONE]"
      ]
    },
    {
      says: "log probabilities of a token that is no text yet are told alone",
      sent: sse(choices({ index: 0, delta: { content: "" }, logprobs: { content: [1] } }), hi, stop, "[DONE]"),
      frames: [told({ role: "assistant" }, 0, { logprobs: { content: [1] } }), toldHi, toldStop, "[DONE]"]
    },
    {
      says: "log probabilities of a finish stay with it",
      sent: sse(hi, choices({ index: 0, delta: {}, logprobs: { content: [] }, finish_reason: "stop" }), "[DONE]"),
      frames: [toldFirstHi, finished("stop", 0, { logprobs: { content: [] } }), "[DONE]"]
    }
  ],
  N37: [
    {
      says: "empty deltas are dropped",
      sent: sse(chunk({}), begin, chunk({}), hi, chunk({ content: "" }), stop, "[DONE]"),
      frames: toldWhole
    }
  ]
}

const table = Object.entries(rows).flatMap(([row, cases]) => cases.map((it) => [row, it.says, it] as const))

const expected = ({ frames, end = "complete" }: Row) => ({ frames, end })
const seen = ({ frames, end }: Relayed) => ({ frames, end })

describe("a normalised chat stream", () => {
  it.each(table)("%s: %s", (_, __, row) => {
    expect(seen(relayed([Buffer.from(row.sent)], row.includeUsage))).toEqual(expected(row))
  })

  it.each(table)("%s: %s, wherever its bytes are cut", (_, __, row) => {
    const bytes = Buffer.from(row.sent)
    const uncut = relayed([bytes], row.includeUsage).trace
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(relayed([bytes.subarray(0, cut), bytes.subarray(cut)], row.includeUsage).trace).toBe(uncut)
    }
    expect(
      relayed(
        [...bytes].map((byte) => Buffer.of(byte)),
        row.includeUsage
      ).trace
    ).toBe(uncut)
  })

  it("N34: a line that does not end breaks the stream", () => {
    const megabyte = Buffer.alloc(1024 * 1024, "x")
    const pieces = [Buffer.from(`${sse(begin, hi)}data: {"a":"`), ...Array(9).fill(megabyte)]
    expect(seen(relayed(pieces))).toEqual({ frames: [toldBegin, toldHi], end: "UpstreamFailed" })
  })
})
