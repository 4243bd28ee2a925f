import { describe, expect, it } from "vitest"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import { heartbeats } from "../../../support/upstream/Heartbeats.ts"
import {
  begun,
  closing,
  created,
  functionCall,
  message,
  numbered,
  opening,
  response,
  responseEvents,
  responsesUsage,
  textDelta,
  type WireEvent,
  wireText
} from "../../../support/upstream/ResponsesWire.ts"
import { REQUEST_ID, translatedStream, typesOf } from "./TranslatedStream.ts"

const sent = (...events: ReadonlyArray<WireEvent | string>): string =>
  events.map((event) => (typeof event === "string" ? event : wireText(event))).join("")
const whole = responseEvents({ content: ["Hel", "lo"], usage: responsesUsage(7, 2) })
const unfinished = [...opening(), textDelta("Hel")]

const failed = (error: unknown, more: object = {}) => ({
  type: "response.failed",
  sequence_number: 9,
  response: { ...begun(), status: "failed", error, ...more }
})
const failures: ReadonlyArray<readonly [string, string, string]> = [
  ["ends before its last event", "", "UpstreamFailed"],
  ["ends with the end mark of another protocol", "data: [DONE]\n\n", "UpstreamFailed"],
  ["has data that is not JSON", "data: {sup3r-secret\n\n", "UpstreamFailed"],
  ["has data that is not a JSON object", "data: []\n\n", "UpstreamFailed"],
  ["has an event that is nested too deeply", `data: ${"[".repeat(50_000)}${"]".repeat(50_000)}\n\n`, "UpstreamFailed"],
  ["has an error event", sent({ type: "error", code: "server_error", message: "sup3r-secret" }), "UpstreamFailed"],
  [
    "has an error event with an `error` member",
    sent({ type: "error", error: { message: "sup3r-secret" } }),
    "UpstreamFailed"
  ],
  [
    "has an error event without a type in its data",
    'event: error\ndata: {"message":"sup3r-secret"}\n\n',
    "UpstreamFailed"
  ],
  [
    "has an error event with another type in its data",
    'event: error\ndata: {"type":"server_error"}\n\n',
    "UpstreamFailed"
  ],
  ["has an error in a text delta", sent({ ...textDelta("lost"), error: { code: 500 } }), "UpstreamFailed"],
  ["has an empty error without a type", 'data: {"error":{}}\n\n', "UpstreamFailed"],
  ["has a failed response with an empty error", sent(failed({})), "UpstreamFailed"],
  ["has an error that is a string", sent({ type: "response.x", error: "sup3r-secret" }), "UpstreamFailed"],
  [
    "has response.failed with an error",
    sent(failed({ code: "server_error", message: "sup3r-secret" })),
    "UpstreamFailed"
  ],
  ["has response.failed without an error", sent(failed(null)), "UpstreamFailed"],
  ["completes without a response", sent({ type: "response.completed" }), "UpstreamFailed"],
  ["has response.failed without a response", sent({ type: "response.failed" }), "UpstreamFailed"],
  [
    "completes with a failed response",
    sent({ type: "response.completed", response: response({}, { status: "failed" }) }),
    "UpstreamFailed"
  ],
  [
    "completes with a cancelled response",
    sent({ type: "response.completed", response: response({}, { status: "cancelled" }) }),
    "UpstreamFailed"
  ],
  [
    "has response.failed with a rate-limit error",
    sent(failed({ code: "rate_limit_exceeded", message: "sup3r-secret" })),
    "TechnicalLimit"
  ],
  [
    "has an error event with the type `rate_limit_error` in its data",
    'event: error\ndata: {"type":"rate_limit_error"}\n\n',
    "TechnicalLimit"
  ],
  ["has an error event with a rate-limit code", sent({ type: "error", code: "rate_limit_exceeded" }), "TechnicalLimit"],
  [
    "has response.failed because the prompt is too long",
    sent(failed({ code: "context_length_exceeded", message: "x" })),
    "UpstreamRejected"
  ],
  [
    "has an error event for an invalid request",
    sent({ type: "error", code: "invalid_prompt", message: "sup3r-secret" }),
    "UpstreamRejected"
  ]
]

describe("a responses stream", () => {
  it("passes on every event and replaces the name of the model by the public name", () => {
    const { events, content, usage, end } = translatedStream(sent(...whole))
    expect(typesOf(events)).toEqual(whole.map(({ type }) => type))
    expect(events.map((event) => event.sequence_number)).toEqual(whole.map((_, i) => i))
    for (const { response } of events) {
      if (response !== undefined) expect(response).toMatchObject({ id: "resp_up_1", model: "public-model" })
    }
    expect(content).toBe("Hello")
    expect(usage).toEqual({ prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n }, output: 2n })
    expect(end).toBe("complete")
  })

  it("keeps the JSON text of an event that is not redacted", () => {
    const data =
      '{ "type":"response.output_text.delta", "item_id":"msg_1","output_index":0,"content_index":0,' +
      '"delta":"\\u00e9\\/","x":[1.0, 12345678901234567890] }'
    const others = [
      `data:${data}\r\n\r\n`,
      `event: response.output_text.delta\ndata: ${data}\n\n`,
      `event: something.else\nid: 7\ndata: ${data}\n\n`,
      `: comment\ndata: ${data.replace(", ", ",\ndata: ")}\n\n`
    ]
    for (const other of others) {
      const { before } = translatedStream(sent(created(), other))
      const frame = before.slice(before.indexOf("\n\n") + 2)
      expect(frame).toBe(`event: response.output_text.delta\ndata: ${data}\n\n`)
    }
  })

  it("reads a missing event type from the `event:` line", () => {
    const { events } = translatedStream(sent(created(), 'event: response.output_text.delta\ndata: {"delta":"hi"}\n\n'))
    expect(events[1]).toEqual({ type: "response.output_text.delta", delta: "hi" })
  })

  it.each([
    ["pings", 'event: ping\ndata: {"type":"ping"}\n\n'],
    ["pings without a type", "event: ping\ndata: {}\n\n"],
    ["heartbeats whose data is not JSON", heartbeats],
    ["keepalives", wireText({ type: "keepalive", sequence_number: 3 })],
    ["comments", ": OPENROUTER PROCESSING\n\n"],
    ["events for the provider's own clients", wireText({ type: "codex.rate_limits", limits: {} })],
    ["the end mark of another protocol", "data: [DONE]\n\n"],
    ["events with empty data", "data:\n\n"],
    ["events whose type contains a line break", 'data: {"type":"response.x\\nevent: error\\ndata: {}"}\n\n']
  ])("drops %s", (_, noise) => {
    const events = whole.flatMap((event) => [event, noise])
    expect(translatedStream(sent(noise, ...events)).text).toBe(translatedStream(sent(...whole)).text)
  })

  it.each([...emptyErrors])("passes on null instead of an empty error: %j", (error) => {
    const withError = (error: unknown) =>
      whole.map((event) =>
        wireText({ ...event, error, ...(event.response ? { response: { ...event.response, error } } : {}) })
      )
    expect(translatedStream(sent(...withError(error)))).toEqual(translatedStream(sent(...withError(null))))
  })

  it("passes on `response.*` events of unknown types", () => {
    const event = { type: "response.sonnet.delta", sequence_number: 1, delta: "rose" }
    const { events, content } = translatedStream(sent(created(), event))
    expect(events[1]).toEqual(event)
    expect(content).toBe("rose")
  })

  it("hides the members that identify the provider", () => {
    const traces = {
      provider: "sup3r-secret",
      system_fingerprint: "sup3r-secret",
      cost: 1,
      x_provider: { host: "sup3r-secret" }
    }
    const inside = {
      ...begun(),
      ...traces,
      id: "gen-sup3r-secret",
      service_tier: "sup3r-secret",
      billing: { payer: "sup3r-secret" },
      content_filters: ["sup3r-secret"],
      usage: {
        ...responsesUsage(7, 2),
        cost: "sup3r-secret",
        cost_in_usd_ticks: 1,
        is_byok: "sup3r-secret",
        input_tokens_details: { cached_tokens: 1, note: "sup3r-secret" }
      },
      output: [{ ...message("hi"), ...traces, content: [{ type: "output_text", text: "hi", ...traces }] }]
    }
    const { text, events } = translatedStream(
      sent(
        { type: "response.created", response: inside, model: "sup3r-secret", ...traces },
        { type: "response.output_item.added", output_index: 0, item: { ...message("hi"), ...traces } },
        { type: "response.content_part.added", part: { type: "output_text", text: "", ...traces } },
        { ...textDelta("hi"), obfuscation: "sup3r-secret" },
        { type: "response.completed", response: inside }
      )
    )
    expect(text).not.toMatch(/sup3r-secret|_tier|billing|filters|cost|byok|fingerprint|obfuscation|upstream-model/)
    expect(events.at(-1)).toMatchObject({
      response: {
        id: "resp_ours",
        model: "public-model",
        output: [message("hi")].map(({ content, ...item }) => item),
        usage: {
          input_tokens: 7,
          input_tokens_details: { cached_tokens: 1 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 9
        }
      }
    })
  })

  it("keeps the client's tools and metadata", () => {
    const tools = [{ type: "function", name: "f", parameters: { properties: { cost: {}, provider: {}, x_y: {} } } }]
    const given = { ...begun(), tools, metadata: { cost: "1", provider: "x" } }
    const { events } = translatedStream(sent({ type: "response.created", response: given }))
    expect(events[0]).toMatchObject({ response: { tools, metadata: given.metadata } })
  })

  it("counts reasoning tokens of the total as output tokens", () => {
    const details = { output_tokens_details: { reasoning_tokens: 20 } }
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 35, ...details }
    const end = { type: "response.completed", response: { ...response(), usage } }
    expect(translatedStream(sent(...unfinished, end)).events.at(-1)).toMatchObject({
      response: { usage: { input_tokens: 10, output_tokens: 25, total_tokens: 35 } }
    })
  })

  it("is complete if it ends at its output limit", () => {
    const more = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    const end = { type: "response.incomplete", response: response({ usage: responsesUsage(7, 1) }, more) }
    const translated = translatedStream(sent(...unfinished, end, textDelta("late")))
    expect(translated).toMatchObject({ end: "complete", content: "Hel", usage: { output: 1n } })
    expect(translated.events.at(-1)).toMatchObject({ type: "response.incomplete", response: more })
  })

  it("reports the name and the arguments of a tool call once", () => {
    const added = { type: "response.output_item.added", output_index: 0, item: functionCall("look", "") }
    const delta = (delta: string) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta })
    const done = { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"at":1}' }
    const end = { type: "response.output_item.done", item: functionCall("look", '{"at":1}') }
    const completed = { type: "response.completed", response: response({}, { output: [end.item] }) }
    expect(translatedStream(sent(created(), added, delta('{"at"'), delta(":1}"), done, end, completed)).content).toBe(
      'look{"at":1}'
    )
  })

  it("reports content that occurs only in its last event", () => {
    const completed = { type: "response.completed", response: response({ content: ["all at once"] }) }
    expect(translatedStream(sent(created(), completed))).toMatchObject({ content: "all at once", end: "complete" })
  })

  it("ignores events after response.completed", () => {
    const late = [textDelta("late"), { type: "error", message: "late" }, "data: [DONE]\n\n", "data: sup3r-secret\n\n"]
    expect(translatedStream(sent(...whole, ...late))).toEqual(translatedStream(sent(...whole)))
  })

  it.each(failures)("fails if it %s", (_, last, tag) => {
    const { events, before, text, content, end } = translatedStream(sent(...numbered(...unfinished)) + last)
    expect(end).toBe(tag)
    expect(content).toBe("Hel")
    expect(before).toBe(translatedStream(sent(...numbered(...unfinished))).before)
    expect(text).not.toContain("sup3r-secret")
    const [failure, error] = events.slice(-2)
    const codes = {
      UpstreamFailed: "upstream_error",
      TechnicalLimit: "technical_limit",
      UpstreamRejected: "invalid_request"
    }
    const code = codes[tag as keyof typeof codes]
    expect(failure).toMatchObject({
      type: "response.failed",
      sequence_number: unfinished.length,
      response: { id: "resp_up_1", model: "public-model", status: "failed", error: { message: expect.any(String) } }
    })
    expect(error).toMatchObject({
      type: "error",
      sequence_number: unfinished.length + 1,
      code,
      message: expect.any(String),
      error: { code, message: expect.any(String), type: expect.any(String), details: { error_code: code } },
      request_id: REQUEST_ID
    })
  })
})

describe("a responses stream that fails", () => {
  it("contains the provider's error code if the request is invalid", () => {
    const { events } = translatedStream(
      sent(created(), failed({ code: "context_length_exceeded", message: "sup3r-secret" }))
    )
    expect(events.at(-2)).toMatchObject({ response: { error: { code: "context_length_exceeded" } } })
    expect(events.at(-1)).toMatchObject({ code: "invalid_request" })
  })

  it("reports its usage", () => {
    const { usage } = translatedStream(sent(...unfinished, failed(null, { usage: responsesUsage(7, 1, 5) })))
    expect(usage).toEqual({ prompt: { input: 2n, cacheWrite: 0n, cacheRead: 5n }, output: 1n })
  })

  it("begins with response.created if it fails before its first event", () => {
    const { events, before } = translatedStream("")
    expect(before).toBe("")
    expect(typesOf(events)).toEqual(["response.created", "response.failed", "error"])
    expect(events.map((event) => event.sequence_number)).toEqual([0, 1, 2])
    expect(events[0]).toMatchObject({
      response: { id: "resp_ours", object: "response", status: "in_progress", model: "public-model", output: [] }
    })
    expect(events[1]).toMatchObject({
      response: { id: "resp_ours", status: "failed", error: { code: "upstream_error" } }
    })
  })

  it("does not repeat long members in its error events", () => {
    const long = { ...begun(), instructions: "x".repeat(10_000), tools: [{ name: "x".repeat(10_000) }] }
    const { events, text, before } = translatedStream(sent({ type: "response.created", response: long }))
    expect(text.length - before.length).toBeLessThan(2_000)
    expect(events.at(-2)).toMatchObject({ response: { instructions: null, tools: [], output: [] } })
  })

  it("numbers its error events if the provider sends no numbers", () => {
    const { events } = translatedStream(sent(created(), ...closing()))
    expect(events.slice(-2).map((event) => event.sequence_number)).toEqual([4, 5])
  })
})
