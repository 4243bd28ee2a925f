/**
 * Tests the refusals of chat completion requests. A refused request costs nothing, has no hold and reaches no upstream.
 */

import { randomBytes } from "node:crypto"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import * as ApiKey from "@tollgate/domain/customer/ApiKey"
import { crc32, fixedWidth } from "@tollgate/domain/customer/ApiKey"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Redacted } from "effect"
import OpenAI, * as Errors from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawClient, type RawResponse } from "../support/RawClient.ts"
import { type Customer, TestGateway } from "../support/TestGateway.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const PATH = "/v1/chat/completions"
const LIMIT_BYTES = 32 * 1024 * 1024
const messages = [{ role: "user" as const, content: "Say hello." }]
const good = { model: "m", messages }
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let gateway: TestGateway
let poor: Customer
let revokedKey: string

beforeAll(async () => {
  gateway = await TestGateway.start()
  poor = await gateway.newCustomer(0n)
  revokedKey = await gateway.run(
    Effect.gen(function* () {
      const operator = { actor: "test", reason: "required by a test" }
      const keys = yield* ApiKeys
      const { key, secret } = yield* keys.create(Email.make(gateway.customer.email), "to be revoked", operator)
      yield* keys.revoke(key.id, operator)
      return Redacted.value(secret)
    })
  )
  await withMoreModels()
})
afterAll(() => gateway.close())

const withMoreModels = async (): Promise<void> => {
  const price = { input: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000, output: 2_000_000 }
  const model = (public_name: string, more: object = {}, provider = "scripted-provider") => ({
    public_name,
    display_name: public_name,
    author: "Lab",
    price_usd_micro_per_million_tokens: price,
    routes: [{ provider, upstream_model: "upstream-model" }],
    ...more
  })
  const provider = (name: string, protocols: ReadonlyArray<string>) => ({
    name,
    base_url: gateway.upstream.baseUrl,
    api_key_env: "PROVIDER_KEY",
    protocols
  })
  const providers = [provider("scripted-provider", ["chat"]), provider("other-protocol", ["messages"])]
  const models = [model("m"), model("hidden", { hidden: true }), model("speaks-messages", {}, "other-protocol")]
  const pictures = model("pictures", { kind: "image", capabilities: ["generate"] })
  await gateway.applyCatalogFile({ providers, models: [...models, pictures, model("retired")] })
  await gateway.applyCatalogFile({ providers, models: [...models, pictures] })
}

interface Asked {
  readonly key?: string | undefined
  readonly headers?: ReadonlyArray<readonly [string, string]>
  readonly body?: unknown
  readonly path?: string
}

const ask = async ({ key, headers, body = good, path = PATH }: Asked): Promise<RawResponse> => {
  const client = await RawClient.post(gateway.url, path, { key, ...(headers && { headers }), body })
  const response = await client.whole()
  client.leave()
  return response
}

/** Checks that a refusal has the documented members, and the same request id in the body and in both headers. */
const expectRefusal = ({ status, headers, body }: RawResponse, expected: Partial<Refusal>): void => {
  const refusal = JSON.parse(body) as Refusal
  expect(refusal).toEqual({
    type: "error",
    error: {
      type: expect.stringMatching(/^[a-z_]+$/),
      code: expect.stringMatching(/^[a-z_]+$/),
      message: expect.stringMatching(/^[A-Z'/].{10,}\.$/s),
      param: null,
      details: { error_code: refusal.error.code },
      ...expected.error
    },
    request_id: headers["x-request-id"]
  })
  expect(headers["request-id"]).toBe(headers["x-request-id"])
  expect(headers["x-request-id"]).toMatch(UUID_V7)
  expect(headers["content-type"]).toContain("application/json")
  expect(headers["cache-control"]).toBe("no-store")
  if (expected.status !== undefined) expect(status).toBe(expected.status)
}

interface Refusal {
  readonly status: number
  readonly error: { readonly code?: string; readonly type?: string; readonly param?: string | null }
}

/** Reads the state that a refused request must not change. */
const stateNow = async () => ({
  asked: gateway.upstream.requests.length,
  settlements: await gateway.query("SELECT count(*) FROM settlement"),
  accounts: await gateway.query("SELECT * FROM account ORDER BY id"),
  holds: await gateway.query("SELECT * FROM open_request")
})

const changesNothing = async (call: () => Promise<void>): Promise<void> => {
  const before = await stateNow()
  await call()
  expect(await stateNow()).toEqual(before)
}

describe("authentication", () => {
  const unknown = Redacted.value(ApiKey.render("tg", ApiKey.generateKey("tg", randomBytes(44))))
  /** The checksum of this key is right, so only the database can recognise the wrong secret. */
  const keyWithWrongSecret = () => {
    const [prefix, publicId] = gateway.key.split("_")
    const secret = "0".repeat(43)
    const key = `${prefix}_${publicId}_${secret}${fixedWidth(BigInt(crc32(`${prefix}_${publicId}_${secret}`)), 6)}`
    expect(ApiKey.parse("tg", key)._tag).toBe("Right")
    return key
  }
  const bearer = (key: string) => ["authorization", `Bearer ${key}`] as const

  it.each<readonly [what: string, headers: () => ReadonlyArray<readonly [string, string]>]>([
    ["no key", () => []],
    ["an empty key", () => [bearer("")]],
    ["an empty x-api-key", () => [["x-api-key", ""]]],
    ["a key in another format", () => [bearer("sk-0123456789")]],
    ["a well-formed key that does not exist", () => [bearer(unknown)]],
    ["an existing key with a wrong secret", () => [bearer(keyWithWrongSecret())]],
    ["a key with one letter too many", () => [bearer(`${gateway.key}x`)]],
    ["a key with one letter too few", () => [bearer(gateway.key.slice(0, -1))]],
    ["a key of 12,000 letters", () => [bearer("x".repeat(12_000))]],
    ["a revoked key", () => [bearer(revokedKey)]],
    ["the Basic scheme", () => [["authorization", `Basic ${gateway.key}`]]],
    ["a key without a scheme", () => [["authorization", gateway.key]]],
    [
      "a valid x-api-key and a Basic Authorization header",
      () => [
        ["x-api-key", gateway.key],
        ["authorization", "Basic eDp5"]
      ]
    ],
    ["a valid Bearer key and a wrong x-api-key", () => [bearer(gateway.key), ["x-api-key", unknown]]],
    ["a wrong Bearer key and a valid x-api-key", () => [bearer(unknown), ["x-api-key", gateway.key]]],
    ["two valid keys of different customers", () => [bearer(gateway.key), ["x-api-key", poor.key]]],
    ["two Authorization headers with different keys", () => [bearer(gateway.key), bearer(poor.key)]],
    [
      "two x-api-key headers with different keys",
      () => [
        ["x-api-key", gateway.key],
        ["x-api-key", poor.key]
      ]
    ]
  ])("returns 401 invalid_api_key for %s", (_, headers) =>
    changesNothing(async () => {
      const response = await ask({ headers: headers() })
      expectRefusal(response, { status: 401, error: { code: "invalid_api_key" } })
      expect(response.headers["www-authenticate"]).toBe("Bearer")
    })
  )

  it.each<readonly [what: string, headers: () => ReadonlyArray<readonly [string, string]>]>([
    ["as a Bearer token", () => [bearer(gateway.key)]],
    ["with the scheme in lower case", () => [["authorization", `bearer ${gateway.key}`]]],
    ["as x-api-key", () => [["x-api-key", gateway.key]]],
    ["in both headers", () => [bearer(gateway.key), ["X-Api-Key", gateway.key]]],
    ["twice in the same header", () => [bearer(gateway.key), bearer(gateway.key)]],
    ["in x-api-key with an empty Bearer token", () => [bearer(""), ["x-api-key", gateway.key]]]
  ])("accepts an API key %s", async (_, headers) => {
    gateway.upstream.next(json(completion({ usage: usage(7, 3) })))
    expect((await ask({ headers: headers() })).status).toBe(200)
  })
})

describe("a request", () => {
  it.each([
    ["is unknown", "gpt-unknown"],
    ["is hidden", "hidden"],
    ["is retired", "retired"],
    ["has another protocol", "speaks-messages"],
    ["generates images", "pictures"],
    ["is named by its upstream name", "upstream-model"],
    ["is named in another letter case", "M"],
    ["is named __proto__", "__proto__"],
    ["has a name of 5,000 letters", "x".repeat(5_000)]
  ])("receives 404 model_not_found when its model %s", (_, model) =>
    changesNothing(async () => {
      const response = await ask({ key: gateway.key, body: { model, messages } })
      expectRefusal(response, { status: 404, error: { code: "model_not_found", param: "model" } })
      expect(response.body).toContain(model.slice(0, 100))
      expect(response.body.length).toBeLessThan(1_000)
    })
  )
})

describe("a request body", () => {
  const raw = JSON.stringify
  const user = raw(messages)
  it.each<readonly [what: string, body: unknown, param: string | null]>([
    ["is empty", "", null],
    ["is not JSON", "hello", null],
    ["is truncated JSON", '{"model":"m","messages":[{', null],
    ["continues after the end of the JSON object", `${raw(good)}}`, null],
    ["is a JSON array", raw([good]), null],
    ["is null", "null", null],
    ["has a trailing comma", '{"model":"m","messages":[],}', null],
    ["has an unescaped control character", `{"model":"m","messages":${user},"x":"\u0001"}`, null],
    ["is nested 100,000 levels deep", `{"model":"m","messages":${user},"x":${"[".repeat(100_000)}`, null],
    ["has no model", { messages }, "model"],
    ["has a number as model", { model: 1, messages }, "model"],
    ["has null as model", { model: null, messages }, "model"],
    ["has an empty model", { model: "", messages }, "model"],
    ["has no messages", { model: "m" }, "messages"],
    ["has empty messages", { model: "m", messages: [] }, "messages"],
    ["has a string as messages", { model: "m", messages: "hi" }, "messages"],
    ["has null as messages", { model: "m", messages: null }, "messages"],
    ["has a string as a message", { model: "m", messages: ["hi"] }, "messages[0]"],
    ["has a message without a role", { model: "m", messages: [...messages, { content: "hi" }] }, "messages[1].role"],
    ["has a message whose role is a number", { model: "m", messages: [{ role: 1 }] }, "messages[0].role"],
    ["has a string as stream", { ...good, stream: "yes" }, "stream"],
    ["has a number as stream", { ...good, stream: 1 }, "stream"],
    ["has a string as stream_options", { ...good, stream_options: "usage" }, "stream_options"],
    [
      "has a string as include_usage",
      { ...good, stream_options: { include_usage: "yes" } },
      "stream_options.include_usage"
    ],
    ["has a string as max_tokens", { ...good, max_tokens: "many" }, "max_tokens"],
    ["has a fraction as max_completion_tokens", { ...good, max_completion_tokens: 1.5 }, "max_completion_tokens"],
    ["has a string as n", { ...good, n: "1" }, "n"],
    ["has two model members", `{"model":"m","messages":${user},"model":"m"}`, "model"],
    ["has two model members, one with an escape", `{"model":"m","messages":${user},"mod\\u0065l":"hidden"}`, "model"],
    ["has two model members, one capitalised", `{"model":"m","messages":${user},"Model":"hidden"}`, "model"],
    ["has a capitalised stream member", `{"model":"m","messages":${user},"Stream":true}`, "stream"],
    ["has two messages members", `{"model":"m","messages":${user},"messages":${user}}`, "messages"],
    ["has two stream members", `{"model":"m","stream":false,"messages":${user},"stream":true}`, "stream"],
    [
      "has two include_usage members",
      `{"model":"m","messages":${user},"stream_options":{"include_usage":false,"include_usage":true}}`,
      "stream_options.include_usage"
    ],
    ["has two max_tokens members", `{"model":"m","max_tokens":1,"messages":${user},"max_tokens":9}`, "max_tokens"]
  ])("causes 400 invalid_request when it %s", (_, body, param) =>
    changesNothing(async () => {
      const response = await ask({ key: gateway.key, body })
      expectRefusal(response, { status: 400, error: { code: "invalid_request", param } })
    })
  )

  it.each<readonly [what: string, header: readonly [string, string]]>([
    ["has the content type of a form", ["content-type", "multipart/form-data; boundary=x"]],
    ["has the content type of an HTML page", ["content-type", "text/html"]],
    ["is compressed", ["content-encoding", "gzip"]]
  ])("causes 400 invalid_request when it %s", (_, header) =>
    changesNothing(async () => {
      const client = await RawClient.connect(gateway.url)
      const bytes = raw(good)
      client.head("POST", PATH, [
        ["authorization", `Bearer ${gateway.key}`],
        ["content-length", String(bytes.length)],
        header
      ])
      client.say(bytes)
      const response = await client.whole()
      client.leave()
      expectRefusal(response, { status: 400, error: { code: "invalid_request" } })
    })
  )

  it("causes 400 invalid_request when it is not UTF-8", () =>
    changesNothing(async () => {
      const client = await RawClient.connect(gateway.url)
      const bytes = Buffer.from(raw(good).replace("hello", "h\u00e9llo"), "latin1")
      client.head("POST", PATH, [
        ["authorization", `Bearer ${gateway.key}`],
        ["content-length", String(bytes.length)]
      ])
      client.say(bytes)
      expectRefusal(await client.whole(), { status: 400, error: { code: "invalid_request" } })
      client.leave()
    }))

  it("can repeat members that the gateway does not read", async () => {
    gateway.upstream.next(json(completion({ usage: usage(7, 3) })))
    const body = `{"model":"m","seed":1,"seed":2,"messages":${user},"x":{"model":"y","model":"z"}}`
    expect((await ask({ key: gateway.key, body })).status).toBe(200)
    expect(gateway.upstream.requests.at(-1)?.body.toString()).toBe(body.replace('"m"', '"upstream-model"'))
  })
})

describe("a body", () => {
  it("above 32 MiB is refused for its announced length", () =>
    changesNothing(async () => {
      const client = await RawClient.connect(gateway.url)
      client.head("POST", PATH, [
        ["authorization", `Bearer ${gateway.key}`],
        ["content-length", String(LIMIT_BYTES + 1)]
      ])
      const response = await client.until(({ body }) => body.endsWith("}"))
      expectRefusal(response, { status: 413, error: { code: "request_too_large" } })
      expect(response.headers.connection).toBe("close")
      client.leave()
      await client.closed()
    }))

  it("above 32 MiB is refused without an announced length", () =>
    changesNothing(async () => {
      const client = await RawClient.connect(gateway.url)
      client.head("POST", PATH, [
        ["authorization", `Bearer ${gateway.key}`],
        ["transfer-encoding", "chunked"]
      ])
      const chunk = Buffer.alloc(1024 * 1024, " ")
      for (let sent = 0; sent <= LIMIT_BYTES; sent += chunk.length) {
        client.say(`${chunk.length.toString(16)}\r\n`)
        client.say(chunk)
        client.say("\r\n")
      }
      const response = await client.until(({ body }) => body.endsWith("}"))
      expectRefusal(response, { status: 413, error: { code: "request_too_large" } })
      expect(response.headers.connection).toBe("close")
      client.leave()
      await client.closed()
      expect(gateway.counters.bodyBytes).toBe(0)
    }))

  it("of 32 MiB is accepted", async () => {
    gateway.upstream.next(json(completion({ usage: usage(7, 3) })))
    const start = `{"model":"m","messages":${JSON.stringify(messages)}`
    const response = await ask({ key: gateway.key, body: `${start}${" ".repeat(LIMIT_BYTES - start.length - 1)}}` })
    expect(response.status).toBe(200)
  })
})

describe("a balance", () => {
  it.each([
    ["a request for a stream", true],
    ["a request for a whole response", false]
  ])("of zero causes 402 insufficient_balance for %s", (_, stream) =>
    changesNothing(async () => {
      const response = await ask({ key: poor.key, body: { ...good, stream } })
      expectRefusal(response, { status: 402, error: { code: "insufficient_balance" } })
      expect(response.headers["x-should-retry"]).toBe("false")
    })
  )

  it("below the smallest possible charge causes 402 insufficient_balance", async () => {
    const customer = await gateway.newCustomer(1_000n)
    const long = [{ role: "user", content: "hello ".repeat(1_500) }]
    await changesNothing(async () => {
      const response = await ask({ key: customer.key, body: { model: "m", messages: long } })
      expectRefusal(response, { status: 402, error: { code: "insufficient_balance" } })
    })
  })

  it("below the cost pays a part of the cost", async () => {
    const customer = await gateway.newCustomer(20n)
    gateway.upstream.next(json(completion({ usage: usage(7, 30) })))
    const { status, headers } = await ask({ key: customer.key })
    expect(status).toBe(200)
    expect(await gateway.settlementOf(headers["x-request-id"] ?? "")).toMatchObject({
      cost_pico: 67_000_000n,
      payg_pico: 20_000_000n,
      writeoff_pico: 47_000_000n
    })
    expect(await gateway.balanceUsdMicro(customer)).toBe(0n)
    expectRefusal(await ask({ key: customer.key }), { status: 402, error: { code: "insufficient_balance" } })
  })
})

describe("a request with two faults", () => {
  const tooLarge = [["content-length", String(LIMIT_BYTES + 1)]] as const
  const head = async (method: string, path: string, headers: ReadonlyArray<readonly [string, string]>) => {
    const client = await RawClient.connect(gateway.url)
    client.head(method, path, headers)
    const response = await client.until(({ status, body }) => status > 0 && body.endsWith("}"))
    client.leave()
    return response
  }
  const bearer = () => [["authorization", `Bearer ${gateway.key}`]] as const
  const unknown = { model: "gpt-unknown", messages }

  it.each<readonly [order: string, call: () => Promise<RawResponse>, status: number, code: string]>([
    ["route before key", () => head("POST", "/v1/nothing", [["content-length", "0"]]), 404, "not_found"],
    ["method before key", () => head("GET", PATH, []), 405, "method_not_allowed"],
    ["key before size", () => head("POST", PATH, tooLarge), 401, "invalid_api_key"],
    ["key before JSON", () => ask({ body: "{" }), 401, "invalid_api_key"],
    [
      "size before JSON",
      () => head("POST", PATH, [...bearer(), ...tooLarge, ["content-type", "application/json"]]),
      413,
      "request_too_large"
    ],
    ["JSON before model", () => ask({ key: gateway.key, body: { ...unknown, messages: [] } }), 400, "invalid_request"],
    ["JSON before balance", () => ask({ key: poor.key, body: "{" }), 400, "invalid_request"],
    ["model before balance", () => ask({ key: poor.key, body: unknown }), 404, "model_not_found"],
    ["balance before upstream", () => ask({ key: poor.key }), 402, "insufficient_balance"]
  ])("is refused for the first fault: %s", (_, call, status, code) =>
    changesNothing(async () => {
      const response = await call()
      expect([response.status, JSON.parse(response.body).error.code]).toEqual([status, code])
    })
  )
})

describe("the official client", () => {
  const client = (apiKey: string, more: object = {}) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...more })
  const create =
    (apiKey: () => string, body: object = {}) =>
    () =>
      client(apiKey()).chat.completions.create({ ...good, ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  const key = () => gateway.key
  const upstreamStatus =
    (status: number, body: object = good) =>
    () => {
      gateway.upstream.next(json({}, status))
      return create(key, body)()
    }

  it.each<readonly [what: string, call: () => Promise<unknown>, kind: new (...made: never) => Error, told: object]>([
    [
      "400",
      create(key, { messages: [] }),
      Errors.BadRequestError,
      { status: 400, code: "invalid_request", type: "invalid_request_error", param: "messages" }
    ],
    [
      "401",
      create(() => "sk-wrong"),
      Errors.AuthenticationError,
      { status: 401, code: "invalid_api_key", type: "invalid_request_error" }
    ],
    [
      "402",
      create(() => poor.key),
      Errors.APIError,
      { status: 402, code: "insufficient_balance", type: "insufficient_quota" }
    ],
    [
      "404",
      create(key, { model: "x" }),
      Errors.NotFoundError,
      { status: 404, code: "model_not_found", type: "invalid_request_error", param: "model" }
    ],
    [
      "429",
      upstreamStatus(429),
      Errors.RateLimitError,
      { status: 429, code: "technical_limit", type: "rate_limit_error" }
    ],
    [
      "502",
      upstreamStatus(500),
      Errors.InternalServerError,
      { status: 502, code: "upstream_error", type: "server_error" }
    ],
    [
      "502 for a stream",
      upstreamStatus(500, { stream: true }),
      Errors.InternalServerError,
      { status: 502, code: "upstream_error", type: "server_error" }
    ]
  ])("raises its own error class for %s", async (_, call, kind, told) => {
    const error = await call().then(
      () => undefined,
      (error: unknown) => error
    )
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ param: null, ...told, requestID: expect.stringMatching(UUID_V7) })
  })

  it("does not retry a request that the balance does not cover", async () => {
    let calls = 0
    const counting = (url: string | URL | Request, init?: RequestInit) => {
      calls += 1
      return fetch(url, init)
    }
    await expect(client(poor.key, { maxRetries: 2, fetch: counting }).chat.completions.create(good)).rejects.toThrow(
      "402"
    )
    expect(calls).toBe(1)
  })
})

describe("the request id", () => {
  it.each<readonly [what: string, status: number, body: object]>([
    ["a whole response", 200, good],
    ["a stream", 200, { ...good, stream: true }],
    ["a failed request", 500, good]
  ])("is generated by the gateway for %s", async (_, status, body) => {
    gateway.upstream.next(json(completion({ usage: usage(7, 3) }), status))
    const { headers } = await ask({
      key: gateway.key,
      headers: [
        ["x-request-id", "mine"],
        ["request-id", "mine"]
      ],
      body
    })
    expect(headers["x-request-id"]).toMatch(UUID_V7)
    expect(headers["request-id"]).toBe(headers["x-request-id"])
    expect((await gateway.settlementOf(headers["x-request-id"] ?? "")).request_id).toBe(headers["x-request-id"])
  })
})

it("a failed database constraint causes 500 internal_error without internal details", async () => {
  await gateway.query("ALTER TABLE open_request ADD CONSTRAINT nothing_fits CHECK (false) NOT VALID")
  await changesNothing(async () => {
    const response = await ask({ key: gateway.key })
    expectRefusal(response, { status: 500, error: { code: "internal_error", type: "server_error" } })
    expect(response.body).not.toMatch(/nothing_fits|constraint|open_request|sql/i)
  })
  await gateway.query("ALTER TABLE open_request DROP CONSTRAINT nothing_fits")
})
