/**
 * Tests the messages protocol with the unmodified official clients 0.x and 1.x and a complete gateway.
 */
import { setTimeout as sleep } from "node:timers/promises"
import Anthropic, { type APIError } from "@anthropic-ai/sdk"
import FirstAnthropic from "anthropic-sdk-0"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { promptTokens, tokens } from "../support/LocalCount.ts"
import { RawClient } from "../support/RawClient.ts"
import { PROVIDER_KEY, TestGateway, until } from "../support/TestGateway.ts"
import {
  blockDelta,
  blockStart,
  blockStop,
  errorOf,
  eventStream,
  inputDelta,
  message,
  messageDelta,
  messageEvents,
  messageStart,
  messageStop,
  ping,
  sent,
  textDelta,
  textStart,
  toolStart,
  usage,
  type WireEvent
} from "../support/upstream/MessagesWire.ts"
import { cut, json, script, silence, stall, text } from "../support/upstream/Script.ts"

const QUESTION = "Say hello."
const messages = [{ role: "user" as const, content: QUESTION }]
const hello = { model: "m", max_tokens: 100, messages }

let gateway: TestGateway

beforeAll(async () => {
  gateway = await TestGateway.start({ provider: { protocols: ["chat", "messages"] }, recorded: true })
})
afterAll(() => gateway.close())

const options = (apiKey: string) => ({ baseURL: gateway.url, apiKey, maxRetries: 0 })
const generations = [
  {
    generation: "1.x",
    version: "2026-10-21",
    headers: ["authorization"],
    make: (key = gateway.key) => new Anthropic(options(key))
  },
  {
    generation: "0.x",
    version: "2023-06-01",
    headers: ["x-api-key"],
    make: (key = gateway.key) => new FirstAnthropic(options(key)) as unknown as Anthropic
  }
]

/** Returns the cost of a call in micro-USD. An input token costs 1, an output token 2. */
const debitOf = async (call: () => Promise<unknown>): Promise<bigint> => {
  await settled()
  const before = await gateway.balanceUsdMicro()
  await call()
  await settled()
  return before - (await gateway.balanceUsdMicro())
}

/** Waits until all requests are settled, because a stream ends before its settlement. */
const settled = async (): Promise<void> => {
  await until(() => gateway.counters.openRequests === 0)
  await gateway.settled()
}

interface Raised {
  readonly name: string
  readonly status: number | undefined
  readonly type: string | null
  readonly requestID: string | null
  readonly code: string
  /** The error code, which only the client 1.x exposes. */
  readonly errorCode: string | undefined
}
const raisedBy = async (call: () => Promise<unknown>): Promise<Raised> => {
  try {
    await call()
  } catch (error) {
    const { constructor, status, type, requestID, error: body } = error as APIError
    const { details } = (body as { error: { details: { error_code: string } } }).error
    const errorCode = "errorCode" in (error as APIError) ? (error as { errorCode?: string }).errorCode : undefined
    return { name: constructor.name, status, type, requestID: requestID ?? null, code: details.error_code, errorCode }
  }
  throw new Error("the call did not fail")
}

describe.each(generations.map((each) => [each.generation, each] as const))(
  "the official client %s",
  (generation, { make, version, headers }) => {
    it("receives a whole message with the public model name", async () => {
      gateway.upstream.next(json(message({ content: ["Hello!"], usage: usage(7, 3) })))
      const debit = await debitOf(async () => {
        const { data, request_id } = await make().messages.create(hello).withResponse()
        expect(data).toMatchObject({ id: "msg_up1", model: "m", role: "assistant", stop_reason: "end_turn" })
        expect(data.content).toEqual([{ type: "text", text: "Hello!" }])
        expect(data.usage).toMatchObject({ input_tokens: 7, output_tokens: 3 })
        expect(request_id).toMatch(/^[0-9a-f-]{36}$/)
      })
      expect(debit).toBe(7n + 2n * 3n)
      const request = gateway.upstream.requests.at(-1)
      expect(request?.path).toBe("/v1/messages")
      expect(request?.json()).toEqual({ ...hello, model: "upstream-model" })
      expect(request?.headers["anthropic-version"]).toBe(version)
      expect(request?.headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`)
      expect(request?.head).not.toContain(gateway.key)
      expect(request?.head).not.toMatch(/x-stainless|user-agent/i)
    })

    it("receives a stream event by event", async () => {
      gateway.upstream.next(eventStream(messageEvents({ content: ["Hel", "lo", "!"], usage: usage(7, 3) })))
      const debit = await debitOf(async () => {
        const types: Array<string> = []
        const deltas: Array<string> = []
        for await (const event of await make().messages.create({ ...hello, stream: true })) {
          types.push(event.type)
          if (event.type === "message_start") expect(event.message.model).toBe("m")
          if (event.type === "content_block_delta" && event.delta.type === "text_delta") deltas.push(event.delta.text)
        }
        expect(deltas).toEqual(["Hel", "lo", "!"])
        expect([types[0], types.at(-1)]).toEqual(["message_start", "message_stop"])
      })
      expect(debit).toBe(7n + 2n * 3n)
    })

    it("assembles thinking, text and tool calls from a stream", async () => {
      gateway.upstream.next(
        eventStream([
          messageStart({ usage: usage(9, 20) }),
          blockStart({ type: "thinking", thinking: "", signature: "" }),
          blockDelta({ type: "thinking_delta", thinking: "hm" }),
          blockDelta({ type: "signature_delta", signature: "EqQB" }),
          blockStop(),
          { ...textStart, index: 1 },
          textDelta("Let me look.", 1),
          blockStop(1),
          toolStart("toolu_1", "weather", 2),
          inputDelta("", 2),
          inputDelta('{"city":', 2),
          inputDelta('"Solo"}', 2),
          blockStop(2),
          messageDelta(20, "tool_use"),
          messageStop
        ])
      )
      const tools = [{ name: "weather", input_schema: { type: "object" as const } }]
      const thinking = { type: "enabled" as const, budget_tokens: 1_024 }
      const body = { ...hello, max_tokens: 2_000, tools, thinking }
      const final = await make().messages.stream(body).finalMessage()
      expect(final.content).toEqual([
        { type: "thinking", thinking: "hm", signature: "EqQB" },
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Solo" } }
      ])
      expect([final.model, final.stop_reason, final.usage.output_tokens]).toEqual(["m", "tool_use", 20])
      expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ tools, thinking, stream: true })
    })

    it("can send an image and receive tool calls", async () => {
      const call = { type: "tool_use", id: "toolu_1", name: "zoom", input: { x: 1 } }
      gateway.upstream.next(json({ ...message({ usage: usage(800, 2), stopReason: "tool_use" }), content: [call] }))
      const source = { type: "base64" as const, media_type: "image/png" as const, data: "iVBORw0KGgo".repeat(1_000) }
      const content = [
        { type: "image" as const, source },
        { type: "text" as const, text: "What is this?" }
      ]
      const received = await make().messages.create({ ...hello, messages: [{ role: "user", content }] })
      expect(received.content).toEqual([call])
      expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ messages: [{ content }] })
    })

    it("sends the names of beta features to the upstream", async () => {
      gateway.upstream.next(json(message({ usage: usage(1, 1) })))
      const betas = ["context-1m-2025-08-07", "files-api-2025-04-14"]
      await make().beta.messages.create({ ...hello, betas })
      expect(gateway.upstream.requests.at(-1)?.headers["anthropic-beta"]).toBe(betas.join(","))
    })

    it("counts tokens free of charge", async () => {
      gateway.upstream.next(json({ input_tokens: 2_095 }), json(errorOf("no such route", "not_found_error"), 404))
      const debit = await debitOf(async () => {
        const count = () => make().messages.countTokens({ model: "m", messages })
        expect(await count()).toEqual({ input_tokens: 2_095 })
        expect(gateway.upstream.requests.at(-1)).toMatchObject({ path: "/v1/messages/count_tokens" })
        expect(await count()).toEqual({ input_tokens: Number(promptTokens(QUESTION)) })
        // A failed token count does not open the circuit breaker, so the upstream still receives messages.
        gateway.upstream.next(json(message({ usage: usage(0, 0) })))
        await make().messages.create(hello)
      })
      expect(debit).toBe(0n)
    })

    it("raises its own error classes with the gateway's error codes", async () => {
      const create = (members: object = {}) => make().messages.create({ ...hello, ...members })
      const poor = await gateway.newCustomer(0n)
      const refusals: ReadonlyArray<
        readonly [call: () => Promise<unknown>, status: number, type: string, code: string]
      > = [
        [() => create({ messages: [] }), 400, "invalid_request_error", "invalid_request"],
        [() => create({ max_tokens: -1 }), 400, "invalid_request_error", "invalid_request"],
        [() => make("tg_wrong").messages.create(hello), 401, "authentication_error", "invalid_api_key"],
        [() => make(poor.key).messages.create(hello), 402, "billing_error", "insufficient_balance"],
        [() => create({ model: "unknown" }), 404, "not_found_error", "model_not_found"],
        [() => create({ model: "unknown", stream: true }), 404, "not_found_error", "model_not_found"],
        [() => create(), 400, "invalid_request_error", "invalid_request"],
        [() => create(), 429, "rate_limit_error", "technical_limit"],
        [() => create({ stream: true }), 502, "api_error", "upstream_error"],
        [() => create({ stream: true }), 502, "api_error", "upstream_error"]
      ]
      gateway.upstream.next(
        json(errorOf("prompt is too long: 210000 tokens > 200000 maximum"), 400),
        json(errorOf("slow down", "rate_limit_error"), 429, { "retry-after": "7" }),
        json(errorOf("Overloaded", "overloaded_error"), 529),
        eventStream([errorOf("Overloaded", "overloaded_error")])
      )
      const classes: Record<number, string> = {
        400: "BadRequestError",
        401: "AuthenticationError",
        404: "NotFoundError",
        429: "RateLimitError",
        502: "InternalServerError"
      }
      for (const [call, status, type, code] of refusals) {
        const raised = await raisedBy(call)
        expect(raised).toMatchObject({ status, type, code })
        expect(raised.requestID).toMatch(/^[0-9a-f-]{36}$/)
        expect(raised.errorCode).toBe(generation === "1.x" ? code : undefined)
        if (status in classes) expect(raised.name).toBe(classes[status])
      }
    })

    const begun = [messageStart({ usage: usage(70, 9) }), textStart, textDelta(" hello"), textDelta(" hello")]
    it.each([
      ["is cut off", [cut]],
      ["ends without its final events", []],
      ["ends with an error event", [sent(errorOf("Overloaded", "overloaded_error"))]],
      [
        "ends with [DONE] like a chat stream",
        [(wire: { send: (bytes: string) => Promise<void> }) => wire.send("data: [DONE]\n\n")]
      ]
    ])("raises an error when a stream %s", async (_, ending) => {
      for (const read of [
        async (client: Anthropic) => {
          for await (const _ of await client.messages.create({ ...hello, stream: true }));
        },
        (client: Anthropic) => client.messages.stream(hello).finalMessage()
      ]) {
        gateway.upstream.next(script({ steps: [...begun.map(sent), ...ending] }))
        const debit = await debitOf(async () => {
          expect(await raisedBy(() => read(make()))).toMatchObject({
            status: undefined,
            type: "api_error",
            code: "upstream_error"
          })
        })
        expect(debit).toBe(70n + 2n * 2n)
      }
    })

    it("receives a complete stream when the upstream omits the final event", async () => {
      gateway.upstream.next(eventStream(messageEvents({ usage: usage(7, 2) }).slice(0, -1)))
      const final = await make().messages.stream(hello).finalMessage()
      expect(final.content).toEqual([{ type: "text", text: "Hello there" }])
    })

    it("receives a stream when the upstream responds with a whole message", async () => {
      gateway.upstream.next(json(message({ content: ["Hello!"], usage: usage(7, 3) })))
      const debit = await debitOf(async () => {
        const final = await make().messages.stream(hello).finalMessage()
        expect(final).toMatchObject({ content: [{ text: "Hello!" }], usage: { input_tokens: 7, output_tokens: 3 } })
      })
      expect(debit).toBe(13n)
    })

    it("receives a stream when the upstream reports no usage", async () => {
      gateway.upstream.next(eventStream(messageEvents({ content: [" hello", " hello"] })))
      const final = await make().messages.stream(hello).finalMessage()
      expect(final.content).toEqual([{ type: "text", text: " hello hello" }])
      expect(await gateway.lastSettlement()).toMatchObject({
        usage_source: "local",
        charged_input: promptTokens(QUESTION),
        charged_output: 2n
      })
    })

    it("sends its API key in the header that its version uses", async () => {
      gateway.upstream.next(json(message({ usage: usage(1, 1) })))
      const names: Array<string> = []
      const client = make()
      const recordingClient = client.withOptions({
        fetch: (url, init) => {
          names.push(...new Headers(init?.headers).keys())
          return fetch(url, init)
        }
      })
      await recordingClient.messages.create(hello)
      expect(names).toEqual(expect.arrayContaining(headers))
    })
  }
)

describe("the API key", () => {
  const statusWith = async (headers: Record<string, string>) => {
    const response = await fetch(`${gateway.url}/v1/messages?beta=true`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ ...hello, model: "unknown" })
    })
    const { error } = (await response.json()) as { readonly error: { readonly code: string } }
    return `${response.status} ${error.code}`
  }

  it("is accepted in either header or in both", async () => {
    const { key } = gateway
    expect(await statusWith({ "x-api-key": key })).toBe("404 model_not_found")
    expect(await statusWith({ authorization: `Bearer ${key}` })).toBe("404 model_not_found")
    expect(await statusWith({ authorization: `Bearer ${key}`, "x-api-key": key })).toBe("404 model_not_found")
  })

  it("is refused when it is missing or the two headers differ", async () => {
    const { key } = gateway
    expect(await statusWith({ authorization: `Bearer ${key}`, "x-api-key": "other" })).toBe("401 invalid_api_key")
    expect(await statusWith({})).toBe("401 invalid_api_key")
  })
})

describe("the charge of a message", () => {
  it("counts cache writes and cache reads separately", async () => {
    const cached = usage(5, 2, { written: 20, read: 300 })
    gateway.upstream.next(eventStream(messageEvents({ usage: cached })), json(message({ usage: cached })))
    for (const stream of [true, false]) {
      const client = new Anthropic(options(gateway.key))
      const debit = await debitOf(() =>
        stream ? client.messages.stream(hello).finalMessage() : client.messages.create(hello)
      )
      expect(await gateway.lastSettlement()).toMatchObject({
        usage_source: "upstream",
        charged_input: 5n,
        charged_cache_write: 20n,
        charged_cache_read: 300n,
        charged_output: 2n
      })
      expect(debit).toBe(5n + 20n + 300n + 2n * 2n)
    }
  })

  it("is its prompt if max_tokens is 0 and the provider only fills its cache", async () => {
    const cached = usage(5, 0, { written: 20 })
    gateway.upstream.next(json(message({ content: [], usage: cached, stopReason: "max_tokens" })))
    const client = new Anthropic(options(gateway.key))
    const debit = await debitOf(() => client.messages.create({ ...hello, max_tokens: 0 }))
    expect(debit).toBe(5n + 20n)
  })
})

/** The events of a stream, each with the text that counts as output. */
const frames: ReadonlyArray<readonly [event: WireEvent, content: string]> = [
  [messageStart({ usage: usage(70, 6) }), ""],
  [ping, ""],
  [blockStart({ type: "thinking", thinking: "", signature: "" }), ""],
  [blockDelta({ type: "thinking_delta", thinking: " hello" }), " hello"],
  [blockDelta({ type: "signature_delta", signature: "EqQB" }), ""],
  [blockStop(), ""],
  [{ ...textStart, index: 1 }, ""],
  [textDelta(" hello", 1), " hello"],
  [textDelta(" hello", 1), " hello"],
  [blockStop(1), ""],
  [toolStart("toolu_1", " weather", 2), " weather"],
  [inputDelta('{"city":', 2), '{"city":'],
  [inputDelta(' "Solo"}', 2), ' "Solo"}'],
  [blockStop(2), ""],
  [messageDelta(99, "tool_use"), ""]
]
const eventsIn = (body: string): number => body.split("event: ").length - 1

describe("a client that disconnects", () => {
  const startStream = () =>
    RawClient.post(gateway.url, "/v1/messages", { key: gateway.key, body: { ...hello, stream: true } })
  const chargedAfter = async (
    events: ReadonlyArray<WireEvent>
  ): Promise<readonly [ending: string, input: bigint, output: bigint]> => {
    gateway.upstream.next(script({ steps: [...events.map(sent), stall] }))
    const client = await startStream()
    const { headers } = await client.until(({ body }) => eventsIn(body) === events.length)
    const left = gateway.upstream.requests.at(-1)?.left
    client.reset()
    expect(
      await Promise.race([left?.then(() => true), sleep(1_000, false)]),
      "the upstream request was aborted within a second"
    ).toBe(true)
    const { ending, charged_input, charged_output } = await gateway.settlementOf(headers["x-request-id"] ?? "")
    return [ending, charged_input, charged_output]
  }

  it.each(frames.map(([{ type }], i) => [i + 1, type] as const))(
    "pays for the delivered output and, if there is any, for the prompt after %i events (the last: %s)",
    async (count) => {
      const delivered = frames.slice(0, count)
      const content = delivered.map(([, content]) => content).join("")
      const due = content === "" ? [0n, 0n] : [70n, tokens(content)]
      expect(await chargedAfter(delivered.map(([event]) => event))).toEqual(["client_gone", ...due])
    }
  )

  it("pays for no more output than the upstream reports", async () => {
    const events = [messageStart({ usage: usage(70, 6) }), textStart, textDelta(" hello hello hello"), messageDelta(2)]
    expect(await chargedAfter(events)).toEqual(["client_gone", 70n, 2n])
  })

  it.each([
    ["reports no usage", messageStart()],
    ["reports zero usage", messageStart({ usage: usage(0, 0) })]
  ])("pays for a locally counted prompt when the first event %s", async (_, start) => {
    const events = [start, textStart, textDelta(" hello")]
    expect(await chargedAfter(events)).toEqual(["client_gone", promptTokens(QUESTION), 1n])
  })

  it("pays nothing before the first event", async () => {
    const { requests } = gateway.upstream
    const requestsBefore = requests.length
    gateway.upstream.next(silence)
    const early = await startStream()
    await until(() => requests.length > requestsBefore)
    early.reset()
    await requests.at(-1)?.left
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", cost_pico: 0n })
  })

  it("pays the full charge after the last event", async () => {
    gateway.upstream.next(eventStream(messageEvents({ usage: usage(70, 9) })))
    const late = await startStream()
    const { headers } = await late.until(({ body }) => body.includes("message_stop"))
    late.reset()
    expect(await gateway.settlementOf(headers["x-request-id"] ?? "")).toMatchObject({
      ending: "complete",
      charged_input: 70n,
      charged_output: 9n
    })
  })
})

describe("a relayed message", () => {
  it("contains nothing that identifies the provider", async () => {
    const identifying = {
      ...message({ usage: usage(1, 1), id: "msg_bdrk_01secret" }),
      provider: "secret",
      usage: { ...usage(1, 1), service_tier: "secret", inference_geo: "secret" }
    }
    gateway.upstream.next(
      json(identifying, 200, { "anthropic-organization-id": "secret", "request-id": "req_secret", server: "secret" }),
      json(errorOf("upstream-model is not available to org-secret1 at https://secret.example"), 400),
      text("<html>secret</html>", "text/html", 500)
    )
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": gateway.key, "content-type": "application/json" },
        body: JSON.stringify(hello)
      })
      const all = JSON.stringify([...response.headers]) + (await response.text())
      expect(all).not.toMatch(/upstream-model|bdrk|scripted|(?<!01)secret/)
    }
  })
})

describe("every response in this file", () => {
  it("contains no provider name, provider host, key or cost", () => {
    expect(gateway.leaks).toEqual([])
  })
})
