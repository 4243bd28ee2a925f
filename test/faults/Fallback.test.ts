/**
 * Tests the fallback to the next provider.
 */
import { setTimeout as sleep } from "node:timers/promises"
import OpenAI, { APIError } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { promptTokens } from "../support/LocalCount.ts"
import { RawClient } from "../support/RawClient.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { chatFrames, chunk, completion, errorBody, usage } from "../support/upstream/ChatWire.ts"
import {
  bytes,
  closeImmediately,
  cut,
  done,
  event,
  json,
  raw,
  resetImmediately,
  type Script,
  script,
  signal,
  silence,
  stream,
  until as when
} from "../support/upstream/Script.ts"

const QUESTION = "Say hello."
const messages = [{ role: "user" as const, content: QUESTION }]
const HELLO = " hello"

let gateway: TestGateway
/** The upstream of the second provider; the first provider has `gateway.upstream`. */
let second: ScriptedUpstream
let client: OpenAI

beforeAll(async () => {
  gateway = await TestGateway.start({ settings: { KEEPALIVE_SECONDS: "1" } })
  second = await ScriptedUpstream.start()
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.close()
  await second.close()
})

/** Numbers the test cases. Each case has providers with new names, so that failures in earlier cases do not count. */
let generation = 0
const useProviders = async (first: object = {}, others: ReadonlyArray<string> = [second.baseUrl]): Promise<void> => {
  generation += 1
  const addresses = [gateway.upstream.baseUrl, ...others]
  await gateway.applyCatalogFile({
    providers: addresses.map((base_url, i) => ({
      name: `provider ${i} of case ${generation}`,
      base_url,
      api_key_env: "PROVIDER_KEY",
      protocols: ["chat"],
      ...(i === 0 ? first : {})
    })),
    models: [
      {
        public_name: "m",
        display_name: "M",
        author: "Lab",
        price_usd_micro_per_million_tokens: {
          input: 1_000_000,
          cache_read: 1_000_000,
          cache_write: 1_000_000,
          output: 2_000_000
        },
        routes: addresses.map((_, i) => ({
          provider: `provider ${i} of case ${generation}`,
          upstream_model: `model-${i}`,
          priority: i
        }))
      }
    ]
  })
}

interface ReceivedResult {
  readonly text: string
  readonly error: APIError | undefined
}

const request = async (streamed: boolean): Promise<ReceivedResult> => {
  let text = ""
  try {
    if (!streamed) {
      const { choices } = await client.chat.completions.create({ model: "m", messages })
      return { text: choices[0]?.message.content ?? "", error: undefined }
    }
    for await (const { choices } of await client.chat.completions.create({ model: "m", messages, stream: true })) {
      text += choices[0]?.delta.content ?? ""
    }
    return { text, error: undefined }
  } catch (error) {
    if (error instanceof APIError) return { text, error }
    throw error
  }
}

const good = (streamed: boolean): Script =>
  streamed
    ? stream(chatFrames({ content: [HELLO], usage: usage(7, 1) }))
    : json(completion({ content: [HELLO], usage: usage(7, 1) }))

/** Makes a call. Returns its result with the requests to each upstream and the decrease of the balance in micro-USD. */
const observed = async (call: () => Promise<ReceivedResult>) => {
  const requestsBefore = [gateway.upstream.requests.length, second.requests.length] as const
  const before = await gateway.balanceUsdMicro()
  const received = await call()
  await gateway.lastSettlement()
  return {
    ...received,
    requests: [gateway.upstream.requests.length - requestsBefore[0], second.requests.length - requestsBefore[1]],
    debit: before - (await gateway.balanceUsdMicro())
  }
}

const begun = async (call: () => Promise<ReceivedResult>): Promise<{ readonly end: Promise<ReceivedResult> }> => {
  const { length } = gateway.upstream.requests
  const end = call()
  await until(() => gateway.upstream.requests.length > length)
  return { end }
}

/** A complete HTTP response with a stream of one content delta. */
const SHORT_RESPONSE = [
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
  `data: ${JSON.stringify(chunk({ content: HELLO }, "stop"))}\n\ndata: [DONE]\n\n`
].join("")

const GOOD_DEBIT = 7n + 2n

describe.each([
  ["a stream", true],
  ["a whole response", false]
])("%s", (_, streamed) => {
  it.each<readonly [fault: string, script: Script]>([
    ["closes the connection", closeImmediately],
    ["resets the connection", resetImmediately],
    ["rejects the gateway's API key (401)", json(errorBody("no"), 401)],
    ["requires payment (402)", json(errorBody("no"), 402)],
    ["does not have the model (404)", json(errorBody("no"), 404)],
    ["limits requests (429)", json(errorBody("slow down"), 429)],
    ["fails (500)", json(errorBody("no"), 500)],
    ["is overloaded (529)", json(errorBody("no"), 529)],
    ["redirects the request (302)", json({}, 302, { location: "/v1/elsewhere" })]
  ])("comes from the next provider when the first provider %s", async (_fault, fault) => {
    await useProviders()
    gateway.upstream.next(fault)
    second.next(good(streamed))
    const { text, error, requests, debit } = await observed(() => request(streamed))
    expect(error).toBeUndefined()
    expect(text).toBe(HELLO)
    expect(requests).toEqual([1, 1])
    expect(debit).toBe(GOOD_DEBIT)
    expect(second.requests.at(-1)?.json()).toMatchObject({ model: "model-1", messages })
  })

  it.each<readonly [fault: string, script: Script, code: string]>([
    ["refuses the request (400)", json(errorBody("messages: too many of them"), 400), "invalid_request"],
    ["refuses the request (422)", json(errorBody("messages: too many of them"), 422), "invalid_request"],
    ["refuses the request as too large (413)", json(errorBody("no"), 413), "request_too_large"],
    ["does not respond in time", silence, "upstream_error"]
  ])("is not retried when the first provider %s", async (_fault, fault, code) => {
    await useProviders({ timeouts: { first_byte_ms: 150 } })
    gateway.upstream.next(fault)
    const { error, requests, debit } = await observed(() => request(streamed))
    expect(error?.code).toBe(code)
    expect(requests).toEqual([1, 0])
    expect(debit).toBe(0n)
  })

  it("fails with 429 when the last provider limits requests", async () => {
    await useProviders()
    gateway.upstream.next(json(errorBody("no"), 500))
    second.next(json(errorBody("slow down"), 429, { "retry-after": "9" }))
    const { error, requests, debit } = await observed(() => request(streamed))
    expect(error).toMatchObject({ status: 429, code: "technical_limit" })
    expect(error?.headers?.get("retry-after")).toBe("9")
    expect(requests).toEqual([1, 1])
    expect(debit).toBe(0n)
  })
})

describe("a stream that has begun", () => {
  it.each<readonly [what: string, steps: Script["steps"]]>([
    ["only comments", [bytes(": thinking\n\n"), cut]],
    ["only pings", [event({ type: "ping" }), cut]]
  ])("comes from the next provider when the connection closes after %s", async (_what, steps) => {
    await useProviders()
    gateway.upstream.next(script({ steps }))
    second.next(good(true))
    const { text, error, requests, debit } = await observed(() => request(true))
    expect(error).toBeUndefined()
    expect({ text, requests, debit }).toEqual({ text: HELLO, requests: [1, 1], debit: GOOD_DEBIT })
  })

  it("costs nothing when the connection closes after the role", async () => {
    await useProviders()
    gateway.upstream.next(script({ steps: [event(chunk({ role: "assistant" })), cut] }))
    const { text, error, requests, debit } = await observed(() => request(true))
    expect(error?.code).toBe("upstream_error")
    expect({ text, requests, debit }).toEqual({ text: "", requests: [1, 0], debit: 0n })
  })

  it("fails when the connection closes after one delta", async () => {
    await useProviders()
    gateway.upstream.next(script({ steps: [event(chunk({ content: HELLO })), cut] }))
    const { text, error, requests, debit } = await observed(() => request(true))
    expect(error?.code).toBe("upstream_error")
    expect({ text, requests, debit }).toEqual({ text: HELLO, requests: [1, 0], debit: promptTokens(QUESTION) + 2n })
  })

  it("contains the error as an event after a keepalive", async () => {
    await useProviders()
    const failed = signal()
    gateway.upstream.next(
      script({ status: "none", steps: [when(failed), raw("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")] })
    )
    const client = await RawClient.post(gateway.url, "/v1/chat/completions", {
      key: gateway.key,
      body: { model: "m", messages, stream: true }
    })
    const requestsBefore = second.requests.length
    await client.until(({ body }) => body.startsWith(": keepalive\n\n"))
    failed.fire()
    const { status, body } = await client.whole()
    expect(status).toBe(200)
    expect(body.replaceAll(": keepalive\n\n", "")).toMatch(/^data: \{"error":\{.*"code":"upstream_error".*\}\}\n\n$/)
    expect(second.requests.length).toBe(requestsBefore)
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "failed", cost_pico: 0n })
  })
})

describe("a provider that keeps failing", () => {
  it("is skipped while its circuit breaker is open", async () => {
    await useProviders({ breaker: { failures: 3, window_ms: 60_000, open_ms: 600 } }, [])
    const fails = json(errorBody("no"), 500)
    gateway.upstream.next(fails, fails, fails)
    for (let i = 0; i < 3; i++) expect((await request(true)).error?.code).toBe("upstream_error")

    const refused = await observed(() => request(true))
    expect(refused.error).toMatchObject({ status: 503, code: "circuit_open", type: "server_error" })
    expect(Number(refused.error?.headers?.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(refused).toMatchObject({ requests: [0, 0], debit: 0n })

    await sleep(650)
    const mayRespond = signal()
    gateway.upstream.next(script({ status: "none", steps: [when(mayRespond), raw(SHORT_RESPONSE)] }))
    const probe = await begun(() => request(true))
    expect((await request(true)).error?.code).toBe("circuit_open")
    mayRespond.fire()
    expect(await probe.end).toEqual({ text: HELLO, error: undefined })
    gateway.upstream.next(good(true))
    expect(await request(true)).toEqual({ text: HELLO, error: undefined })
  })

  it("is skipped after two failures", async () => {
    await useProviders({ breaker: { failures: 2, window_ms: 60_000, open_ms: 60_000 } })
    const fails = json(errorBody("no"), 500)
    const refuses = json(errorBody("messages: bad"), 400)
    gateway.upstream.next(refuses, refuses, refuses, fails, fails)
    for (let i = 0; i < 3; i++) expect((await request(false)).error?.code).toBe("invalid_request")
    second.next(good(false), good(false), good(false))
    for (const requests of [1, 1, 0]) {
      const received = await observed(() => request(false))
      expect(received).toMatchObject({ text: HELLO, requests: [requests, 1], debit: GOOD_DEBIT })
    }
  })
})

describe("a provider that rejects the gateway's API key", () => {
  it("receives no further request", async () => {
    await useProviders()
    gateway.upstream.next(json(errorBody("Incorrect API key provided"), 401))
    second.next(good(true), good(true))
    expect(await observed(() => request(true))).toMatchObject({ text: HELLO, requests: [1, 1], debit: GOOD_DEBIT })
    expect(await observed(() => request(true))).toMatchObject({ text: HELLO, requests: [0, 1], debit: GOOD_DEBIT })
  })

  it("causes 502 upstream_error without a second provider", async () => {
    await useProviders({}, [])
    gateway.upstream.next(json(errorBody("Incorrect API key provided"), 401))
    for (const requests of [1, 0]) {
      const { error, ...rest } = await observed(() => request(true))
      expect(error).toMatchObject({ status: 502, code: "upstream_error" })
      expect(rest).toMatchObject({ requests: [requests, 0], debit: 0n })
    }
    await useProviders({}, [])
    gateway.upstream.next(good(true))
    expect(await request(true)).toEqual({ text: HELLO, error: undefined })
  })
})

describe("a provider at its concurrency limit", () => {
  it("causes 503 overloaded without a second provider", async () => {
    await useProviders({ max_concurrency: 1 }, [])
    const mayRespond = signal()
    gateway.upstream.next(script({ steps: [when(mayRespond), event(chunk({ content: HELLO }, "stop")), done] }))
    const first = await begun(() => request(true))
    const { error } = await request(true)
    expect(error).toMatchObject({ status: 503, code: "overloaded" })
    expect(Number(error?.headers?.get("retry-after"))).toBeGreaterThanOrEqual(1)
    mayRespond.fire()
    expect((await first.end).text).toBe(HELLO)
    await gateway.lastSettlement()
    gateway.upstream.next(good(true))
    expect((await request(true)).text).toBe(HELLO)
  })

  it("receives no further request", async () => {
    await useProviders({ max_concurrency: 1 })
    const mayRespond = signal()
    gateway.upstream.next(script({ steps: [when(mayRespond), event(chunk({ content: HELLO }, "stop")), done] }))
    const first = await begun(() => request(true))
    second.next(good(true))
    expect(await request(true)).toEqual({ text: HELLO, error: undefined })
    mayRespond.fire()
    expect(await first.end).toEqual({ text: HELLO, error: undefined })
    expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ model: "model-0" })
    expect(second.requests.at(-1)?.json()).toMatchObject({ model: "model-1" })
  })
})
