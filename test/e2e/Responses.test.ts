/**
 * Tests the responses protocol as applications use it, with the unmodified official client and a complete gateway.
 */
import OpenAI, { APIError } from "openai"
import { zodTextFormat } from "openai/helpers/zod"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { promptTokens } from "../support/LocalCount.ts"
import { RawClient } from "../support/RawClient.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import {
  begun,
  closing,
  created,
  functionCall,
  numbered,
  opening,
  response,
  responseEvents,
  responseStream,
  responsesUsage,
  textDelta,
  type WireEvent,
  wireStep,
  wireText
} from "../support/upstream/ResponsesWire.ts"
import {
  bytes,
  cut,
  inPieces,
  json,
  reset,
  type Script,
  type Step,
  script,
  signal,
  stall,
  text as textScript,
  until as when
} from "../support/upstream/Script.ts"

const QUESTION = "Say hello."
const PROMPT = promptTokens(QUESTION)
/** A content delta of one token. */
const HELLO = " hello"
const hello = { model: "m", input: QUESTION }

/** The provider fails often in these tests, so its circuit breaker opens only after 1,000 failures. */
const provider = {
  protocols: ["chat", "responses"],
  breaker: { failures: 1_000, window_ms: 1_000, open_ms: 1_000 }
}

let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  gateway = await TestGateway.start({ provider, recorded: true })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(() => gateway.close())

/** Returns how much a call decreases the balance, in micro-USD. */
const debitOf = async (call: () => Promise<unknown>): Promise<bigint> => {
  await until(() => gateway.counters.openRequests === 0)
  await gateway.settled()
  const before = await gateway.balanceUsdMicro()
  await call()
  await gateway.lastSettlement()
  return before - (await gateway.balanceUsdMicro())
}

const lastRequest = () => gateway.upstream.requests.at(-1)

describe("a whole response", () => {
  it("is the upstream's response with the public model name", async () => {
    gateway.upstream.next(json(response({ content: ["Hello!"], usage: responsesUsage(7, 3) })))
    const debit = await debitOf(async () => {
      const received = await client.responses.create(hello)
      expect(received.output_text).toBe("Hello!")
      expect(received).toMatchObject({ id: "resp_up_1", object: "response", model: "m", status: "completed" })
      expect(received.usage).toMatchObject({ input_tokens: 7, output_tokens: 3, total_tokens: 10 })
      expect(received).not.toHaveProperty("service_tier")
    })
    expect(debit).toBe(7n + 2n * 3n)
  })

  it("is requested with the client's bytes except for the model name", async () => {
    gateway.upstream.next(json(response({ usage: responsesUsage(1, 1) })))
    const body = `{ "x": 12345678901234567890, "model" : "m", "input":[{"role":"user","content":"\\u00e9"}],"y":1.0 }`
    await fetch(`${gateway.url}/v1/responses?x=1`, {
      method: "POST",
      headers: { "x-api-key": gateway.key, "content-type": "application/json", "x-codex-turn-metadata": "private" },
      body
    })
    expect(lastRequest()?.path).toBe("/v1/responses")
    expect(lastRequest()?.body.toString("utf8")).toBe(body.replace('"m"', '"upstream-model"'))
    expect(lastRequest()?.head).not.toContain("private")
    expect(lastRequest()?.head).not.toContain(gateway.key)
  })

  it("is returned for a string, messages or items", async () => {
    const conversation = [
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
      functionCall("look", "{}"),
      { type: "function_call_output", call_id: "call_1", output: "a cat" },
      { type: "item_reference", id: "msg_1" }
    ] as OpenAI.Responses.ResponseInput
    for (const input of [QUESTION, [{ role: "user" as const, content: QUESTION }], conversation]) {
      gateway.upstream.next(json(response({ usage: responsesUsage(1, 1) })))
      await client.responses.create({ model: "m", input })
      expect(lastRequest()?.json()).toMatchObject({ input })
    }
  })

  it("is returned for a request with an image", async () => {
    gateway.upstream.next(json(response({ usage: responsesUsage(800, 2) })))
    const image_url = `data:image/png;base64,${"iVBORw0KGgo".repeat(1_000)}`
    const content = [
      { type: "input_text" as const, text: "What is this?" },
      { type: "input_image" as const, image_url, detail: "auto" as const }
    ]
    await client.responses.create({ model: "m", input: [{ role: "user", content }] })
    expect(lastRequest()?.json()).toMatchObject({ input: [{ content }] })
  })

  it("contains tool calls with their arguments", async () => {
    const call = functionCall("weather", '{"city":"Solo"}')
    gateway.upstream.next(json(response({ usage: responsesUsage(5, 5) }, { output: [call] })))
    const tools = [{ type: "function" as const, name: "weather", parameters: { type: "object" }, strict: false }]
    const received = await client.responses.create({ ...hello, tools })
    expect(received.output).toEqual([call])
    expect(lastRequest()?.json()).toMatchObject({ tools })
  })

  it("is parsed by the schema helper of the client", async () => {
    gateway.upstream.next(json(response({ content: ['{"city":"Solo"}'], usage: responsesUsage(5, 5) })))
    const text = { format: zodTextFormat(z.object({ city: z.string() }), "place") }
    expect((await client.responses.parse({ ...hello, text })).output_parsed).toEqual({ city: "Solo" })
  })

  it("without reported usage is charged by a local count", async () => {
    gateway.upstream.next(json(response({ content: [HELLO.repeat(20)] })))
    const debit = await debitOf(() => client.responses.create(hello))
    const settlement = await gateway.lastSettlement()
    expect(settlement).toMatchObject({ usage_source: "local", charged_input: PROMPT, charged_output: 20n })
    expect(debit).toBe(PROMPT + 40n)
  })

  it("costs its reported usage when max_output_tokens ends it", async () => {
    const more = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    gateway.upstream.next(json(response({ usage: responsesUsage(7, 16) }, more)))
    const debit = await debitOf(async () => {
      expect((await client.responses.create({ ...hello, max_output_tokens: 16 })).status).toBe("incomplete")
    })
    expect(debit).toBe(7n + 32n)
  })

  it("is charged for cached tokens as cache reads and writes", async () => {
    gateway.upstream.next(json(response({ usage: responsesUsage(100, 1, 60, 30) })))
    await client.responses.create(hello)
    expect(await gateway.lastSettlement()).toMatchObject({
      charged_input: 10n,
      charged_cache_read: 60n,
      charged_cache_write: 30n,
      charged_output: 1n
    })
  })
})

describe("a responses stream", () => {
  const parts = { content: [HELLO, HELLO, HELLO], usage: responsesUsage(7, 3) }
  const said = HELLO.repeat(3)

  it("arrives event by event", async () => {
    gateway.upstream.next(responseStream(responseEvents(parts)))
    const debit = await debitOf(async () => {
      const events: Array<OpenAI.Responses.ResponseStreamEvent> = []
      for await (const event of await client.responses.create({ ...hello, stream: true })) events.push(event)
      expect(events.map(({ type }) => type)).toEqual(responseEvents(parts).map(({ type }) => type))
      expect(events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("")).toBe(
        said
      )
      expect(events.at(-1)).toMatchObject({ response: { model: "m", usage: { total_tokens: 10 } } })
    })
    expect(debit).toBe(7n + 2n * 3n)
    expect(lastRequest()?.json()).toEqual({ ...hello, model: "upstream-model", stream: true })
  })

  it("is assembled by the stream helper of the client", async () => {
    gateway.upstream.next(responseStream(responseEvents(parts)))
    const final = await client.responses.stream(hello).finalResponse()
    expect(final).toMatchObject({ model: "m", status: "completed", output_text: said, usage: { output_tokens: 3 } })
  })

  it("with tool calls is assembled by the client's stream helper", async () => {
    const at = { item_id: "fc_up_1", output_index: 0 }
    const item = functionCall("weather", '{"city":"Solo"}')
    const events = numbered(
      created(),
      {
        type: "response.output_item.added",
        output_index: 0,
        item: functionCall("weather", "", "fc_up_1", "in_progress")
      },
      { type: "response.function_call_arguments.delta", ...at, delta: '{"city":' },
      { type: "response.function_call_arguments.delta", ...at, delta: '"Solo"}' },
      { type: "response.function_call_arguments.done", ...at, arguments: item.arguments },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: response({ usage: responsesUsage(9, 6) }, { output: [item] }) }
    )
    gateway.upstream.next(responseStream(events))
    const tools = [{ type: "function" as const, name: "weather", parameters: { type: "object" }, strict: false }]
    const final = await client.responses.stream({ ...hello, tools }).finalResponse()
    expect(final.output[0]).toMatchObject({ type: "function_call", name: "weather", arguments: '{"city":"Solo"}' })
  })

  const whole = responseEvents(parts).map(wireText).join("")
  const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
  const odd: ReadonlyArray<readonly [string, Script]> = [
    ["byte by byte", script({ steps: [inPieces(1, whole)] })],
    ["with CRLF line ends", script({ steps: [bytes(whole.replaceAll("\n", "\r\n"))] })],
    ["with pings and keepalives", script({ steps: [bytes(ping + whole.replaceAll("\n\n", `\n\n${ping}`))] })],
    ["with comments", script({ steps: [bytes(whole.replaceAll("\n\n", "\n\n: PROCESSING\n\n"))] })],
    ["without event names", script({ steps: [bytes(whole.replaceAll(/event: .*\n/g, ""))] })],
    ["with [DONE] at its end", script({ steps: [bytes(`${whole}data: [DONE]\n\n`)] })],
    ["and keeps the connection open", script({ steps: [bytes(whole), stall] })],
    ["as a whole response", json(response(parts))]
  ]
  it.each(odd)("is valid for the official client when an upstream sends it %s", async (_, says) => {
    gateway.upstream.next(says)
    const debit = await debitOf(async () => {
      const final = await client.responses.stream(hello).finalResponse()
      expect(final).toMatchObject({ model: "m", status: "completed", output_text: said })
    })
    expect(debit).toBe(13n)
  })

  it("is valid for the official client when the upstream resets the connection after its last event", async () => {
    // The client confirms the last event first, because a reset discards data that the gateway has not read yet.
    const clientReceived = signal()
    gateway.upstream.next(script({ steps: [bytes(whole), when(clientReceived), reset] }))
    const debit = await debitOf(async () => {
      const stream = client.responses.stream(hello).on("response.completed", clientReceived.fire)
      expect(await stream.finalResponse()).toMatchObject({ status: "completed", output_text: said })
    })
    expect(debit).toBe(13n)
  })

  it("costs its reported usage when max_output_tokens ends it", async () => {
    const more = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    const end = { type: "response.incomplete", response: response({ ...parts, usage: responsesUsage(7, 16) }, more) }
    gateway.upstream.next(responseStream(numbered(...opening(), textDelta(HELLO), end)))
    const debit = await debitOf(async () => {
      expect((await client.responses.stream(hello).finalResponse()).status).toBe("incomplete")
    })
    expect(debit).toBe(7n + 32n)
  })

  it("without reported usage costs a local count", async () => {
    for (const events of [
      responseEvents({ content: [HELLO, HELLO] }),
      numbered(created(), { type: "response.completed", response: response({ content: [HELLO, HELLO] }) })
    ]) {
      gateway.upstream.next(responseStream(events))
      await client.responses.stream(hello).finalResponse()
      expect(await gateway.lastSettlement()).toMatchObject({
        ending: "complete",
        usage_source: "local",
        charged_input: PROMPT,
        charged_output: 2n
      })
    }
  })

  it("is charged for cached tokens as cache reads and writes", async () => {
    gateway.upstream.next(responseStream(responseEvents({ content: ["x"], usage: responsesUsage(100, 1, 60, 30) })))
    await client.responses.stream(hello).finalResponse()
    expect(await gateway.lastSettlement()).toMatchObject({
      charged_input: 10n,
      charged_cache_read: 60n,
      charged_cache_write: 30n
    })
  })
})

describe("a responses request that fails", () => {
  const refusedWith = async (ask: Promise<unknown>) => {
    const error = await ask.then(
      () => undefined,
      (error: unknown) => error
    )
    if (!(error instanceof APIError)) throw new Error(`not refused: ${error}`)
    expect(error.requestID).toMatch(/^[0-9a-f-]{36}$/)
    return { status: error.status, code: error.code, param: error.param ?? null, type: error.type }
  }
  const bad = (members: object) => refusedWith(client.responses.create({ ...hello, ...members }))
  const invalid = (param: string) => ({ status: 400, code: "invalid_request", param, type: "invalid_request_error" })

  it("is not sent to an upstream when it is refused", async () => {
    const before = gateway.upstream.requests.length
    expect(await bad({ input: 7 })).toEqual(invalid("input"))
    expect(await bad({ input: [] })).toEqual(invalid("input"))
    expect(await bad({ stream: "yes" })).toEqual(invalid("stream"))
    expect(await bad({ background: true })).toEqual(invalid("background"))
    expect(await bad({ model: "unknown" })).toMatchObject({ status: 404, code: "model_not_found", param: "model" })
    const strange = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "tg_wrong", maxRetries: 0 })
    expect(await refusedWith(strange.responses.create(hello))).toMatchObject({ status: 401, code: "invalid_api_key" })
    const { key } = await gateway.newCustomer(0n)
    const poor = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
    expect(await refusedWith(poor.responses.create(hello))).toMatchObject({
      status: 402,
      code: "insufficient_balance",
      type: "insufficient_quota"
    })
    expect(gateway.upstream.requests.length).toBe(before)
  })

  const failed = (code: string): Script =>
    json(response({}, { status: "failed", output: [], error: { code, message: "x" } }))
  const refusals: ReadonlyArray<readonly [string, Script, object]> = [
    [
      "refuses the request",
      json({ error: { message: "'text' is odd", param: "text" } }, 400),
      { status: 400, param: "text" }
    ],
    ["limits requests", json({}, 429, { "retry-after": "7" }), { status: 429, code: "technical_limit" }],
    ["fails", json({ error: {} }, 500), { status: 502, code: "upstream_error" }],
    ["sends an HTML page", textScript("<html>", "text/html"), { status: 502, code: "upstream_error" }],
    ["sends a failed response", failed("server_error"), { status: 502, code: "upstream_error" }],
    ["reports a rate limit in its response", failed("rate_limit_exceeded"), { status: 429, code: "technical_limit" }],
    ["reports an invalid prompt", failed("invalid_prompt"), { status: 400, code: "invalid_request" }]
  ]
  it.each(refusals)("costs nothing when the upstream %s", async (_, says, refusal) => {
    for (const stream of [false, true]) {
      // The HTML page also fails a request for a stream, because it contains no events.
      gateway.upstream.next(says)
      const debit = await debitOf(async () => expect(await bad({ stream })).toMatchObject(refusal))
      expect(debit).toBe(0n)
    }
  })

  it("receives an error status when the stream begins with a failure", async () => {
    for (const first of [
      { type: "error", code: "rate_limit_exceeded", message: "x" },
      { type: "response.failed", response: { ...begun(), status: "failed", error: { code: "rate_limit_exceeded" } } }
    ]) {
      gateway.upstream.next(responseStream([first]))
      expect(await bad({ stream: true })).toMatchObject({ status: 429, code: "technical_limit" })
    }
  })
})

describe("a responses stream that fails", () => {
  const failed = (error: object, usage: unknown = null): WireEvent => ({
    type: "response.failed",
    sequence_number: 5,
    response: { ...begun(), status: "failed", error, usage }
  })
  const FAILED = "upstream_error"
  const breaks: ReadonlyArray<readonly [upstream: string, rest: ReadonlyArray<Step>, code: string]> = [
    ["ends the stream", [], FAILED],
    ["ends the stream with [DONE]", [bytes("data: [DONE]\n\n")], FAILED],
    ["closes the connection", [cut], FAILED],
    ["resets the connection", [reset], FAILED],
    ["ends in the middle of an event", [bytes('event: response.output_text.delta\ndata: {"type":"resp')], FAILED],
    ["sends invalid data", [bytes("data: kwyjibo\n\n"), stall], FAILED],
    ["sends a line of 9 MB without an end", [bytes(`data: ${"x".repeat(9_000_000)}`), stall], FAILED],
    ["sends an error event", [wireStep({ type: "error", code: "server_error", message: "kwyjibo" }), stall], FAILED],
    [
      "sends an error event with a nested error",
      [wireStep({ type: "error", error: { message: "kwyjibo" } }), stall],
      FAILED
    ],
    ["sends a failed response", [wireStep(failed({ code: "server_error", message: "kwyjibo" })), stall], FAILED],
    [
      "reports a rate limit",
      [wireStep(failed({ code: "rate_limit_exceeded", message: "x" })), stall],
      "technical_limit"
    ],
    [
      "reports an exceeded context length",
      [wireStep(failed({ code: "context_length_exceeded", message: "x" }))],
      "invalid_request"
    ]
  ]

  const expectRaised = async (rest: ReadonlyArray<Step>, code = FAILED) => {
    for (const listen of [iterate, assemble]) {
      const clientReceived = signal()
      const first = numbered(...opening(), textDelta(HELLO))
      gateway.upstream.next(script({ steps: [...first.map(wireStep), when(clientReceived), ...rest] }))
      let text = ""
      const debit = await debitOf(async () => {
        const raised = await listen((delta) => {
          text += delta
          clientReceived.fire()
        })
        expect(raised).toBeInstanceOf(APIError)
        expect(raised).toMatchObject({ code, status: undefined })
        expect(raised.message).not.toContain("kwyjibo")
      })
      expect(text).toBe(HELLO)
      expect(await gateway.lastSettlement()).toMatchObject({ ending: "upstream_cut", charged_output: 1n })
      expect(debit).toBe(PROMPT + 2n)
    }
  }

  it.each(breaks)("raises an error in the client when the upstream %s", (_, ...broken) => expectRaised(...broken))

  it("raises an error in the client when the upstream stalls", async () => {
    await gateway.applyCatalog({ provider: { ...provider, timeouts: { idle_ms: 500 } } })
    await expectRaised([bytes("event: ping\ndata: {}\n\n"), stall])
    await gateway.applyCatalog({ provider })
  })

  it("costs the reported prompt and the delivered output", async () => {
    const events = numbered(...opening(), textDelta(HELLO), failed({ code: "server_error" }, responsesUsage(70, 9)))
    gateway.upstream.next(responseStream(events))
    const debit = await debitOf(() => iterate(() => {}))
    expect(await gateway.lastSettlement()).toMatchObject({
      ending: "upstream_cut",
      usage_source: "mixed",
      charged_input: 70n,
      charged_output: 1n,
      consumed_output: 9n
    })
    expect(debit).toBe(72n)
  })

  it("without content costs nothing after a report of zero usage", async () => {
    const zeros = { ...begun(), usage: responsesUsage(0, 0) }
    gateway.upstream.next(responseStream([{ type: "response.created", response: zeros }]))
    expect(await debitOf(() => iterate(() => {}))).toBe(0n)
  })

  it("costs the delivered part after a report of zero usage", async () => {
    const zeros = { ...begun(), usage: responsesUsage(0, 0) }
    const events = [{ type: "response.created", response: zeros }, ...opening().slice(1), textDelta(HELLO)]
    gateway.upstream.next(responseStream(events))
    expect(await debitOf(() => iterate(() => {}))).toBe(PROMPT + 2n)
  })

  const raisedBy = async (listening: () => Promise<unknown>): Promise<Error> => {
    try {
      await listening()
    } catch (error) {
      if (error instanceof Error) return error
    }
    throw new Error("the call did not fail")
  }

  const iterate = (hear: (delta: string) => void) =>
    raisedBy(async () => {
      for await (const event of await client.responses.create({ ...hello, stream: true })) {
        if (event.type === "response.output_text.delta") hear(event.delta)
      }
    })

  const assemble = (hear: (delta: string) => void) =>
    raisedBy(() =>
      client.responses
        .stream(hello)
        .on("response.output_text.delta", ({ delta }) => hear(delta))
        .finalResponse()
    )
})

describe("a responses stream whose client disconnects", () => {
  const text = [HELLO, HELLO, HELLO]
  const events = numbered(...opening(), ...text.map(textDelta), ...closing({ content: text }), {
    type: "response.completed",
    response: response({ content: text, usage: responsesUsage(70, 3) })
  })
  const deltasIn = (body: string): number => body.split("event: response.output_text.delta\n").length - 1
  const framesIn = (body: string): number => body.split("\n\n").length - 1

  it.each(events.map(({ type }, i) => [i + 1, type] as const))(
    "costs the received part after event %i, %s",
    async (count) => {
      const before = await gateway.balanceUsdMicro()
      gateway.upstream.next(script({ steps: [...events.slice(0, count).map(wireStep), stall] }))
      const raw = await RawClient.post(gateway.url, "/v1/responses", {
        key: gateway.key,
        body: { ...hello, stream: true }
      })
      const { body, headers } = await raw.until(({ body }) => framesIn(body) === count)
      raw.leave()
      const output = BigInt(deltasIn(body))
      const complete = count === events.length
      const settlement = await gateway.settlementOf(headers["x-request-id"] ?? "")
      const input = complete ? 70n : output === 0n ? 0n : PROMPT
      expect(settlement).toMatchObject({
        ending: complete ? "complete" : "client_gone",
        charged_input: input,
        charged_output: output
      })
      await gateway.settled()
      expect(before - (await gateway.balanceUsdMicro())).toBe(input + 2n * output)
    }
  )

  it("aborts the upstream request", async () => {
    gateway.upstream.next(script({ steps: [...events.slice(0, 6).map(wireStep), stall] }))
    const stream = await client.responses.create({ ...hello, stream: true })
    const request = lastRequest()
    let deltas = 0
    for await (const { type } of stream) {
      if (type === "response.output_text.delta") deltas += 1
      if (deltas === 2) stream.controller.abort()
    }
    await request?.left
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", charged_output: 2n })
  })

  it("costs nothing before the first event", async () => {
    const asked = gateway.upstream.requests.length
    gateway.upstream.next(script({ steps: [stall] }))
    const raw = await RawClient.post(gateway.url, "/v1/responses", {
      key: gateway.key,
      body: { ...hello, stream: true }
    })
    const before = await gateway.balanceUsdMicro()
    await until(() => gateway.upstream.requests.length > asked)
    raw.reset()
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", cost_pico: 0n })
    expect(await gateway.balanceUsdMicro()).toBe(before)
  })
})

describe("every response in this file", () => {
  it("contains no provider name, provider host, key or cost", () => {
    expect(gateway.leaks).toEqual([])
  })
})
