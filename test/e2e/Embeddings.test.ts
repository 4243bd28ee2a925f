/**
 * Tests embeddings with unmodified clients, a complete gateway and a scripted upstream.
 */
import { createOpenAI } from "@ai-sdk/openai"
import { OpenAIEmbeddings } from "@langchain/openai"
import { embed, embedMany } from "ai"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawClient } from "../support/RawClient.ts"
import type { ReceivedRequest } from "../support/ScriptedUpstream.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { errorBody } from "../support/upstream/ChatWire.ts"
import { bytes, closeImmediately, json, type Script, script, stall } from "../support/upstream/Script.ts"

let gateway: TestGateway
let client: OpenAI

const routes = [{ provider: "scripted-provider", upstream_model: "upstream-model" }]
const price_usd_micro_per_million_tokens = {
  input: 1_000_000,
  cache_read: 500_000,
  cache_write: 3_000_000,
  output: 9_000_000
}
const model = (public_name: string, more: object = {}) => ({
  public_name,
  display_name: public_name,
  author: "Lab",
  price_usd_micro_per_million_tokens,
  routes,
  ...more
})

beforeAll(async () => {
  gateway = await TestGateway.start({ recorded: true })
  await gateway.applyCatalogFile({
    providers: [
      {
        name: "scripted-provider",
        base_url: gateway.upstream.baseUrl,
        api_key_env: "PROVIDER_KEY",
        protocols: ["chat", "messages", "responses", "images", "embeddings"]
      }
    ],
    models: [
      model("m"),
      model("picture", { kind: "image", capabilities: ["generate"] }),
      model("vectors", { kind: "embedding" })
    ]
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(() => gateway.close())

const VECTOR = [0.5, -1, 0.25]

const base64 = (vector: ReadonlyArray<number>): string => {
  const floats = Buffer.alloc(vector.length * 4)
  vector.forEach((value, i) => {
    floats.writeFloatLE(value, i * 4)
  })
  return floats.toString("base64")
}

/** Returns a response with one vector for each input: `[i, 0.5, -1, 0.25]` for input i, encoded by `encode`. */
const embeddings = (inputs: number, usage?: object, encode = (vector: ReadonlyArray<number>): unknown => vector) =>
  json({
    object: "list",
    data: Array.from({ length: inputs }, (_, index) => ({
      object: "embedding",
      index,
      embedding: encode([index, ...VECTOR])
    })),
    model: "upstream-model",
    ...(usage && { usage })
  })

/** Returns a script that sends one vector for each input of the request, in the requested encoding. */
const obedient =
  (promptTokens: number) =>
  (request: ReceivedRequest): Script => {
    const { input, encoding_format } = request.json() as { input: unknown; encoding_format?: string }
    const inputs = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
    return embeddings(inputs, usage, encoding_format === "base64" ? base64 : undefined)
  }

/** Returns how much a call decreases the balance, in micro-USD. */
const debitOf = async (call: () => Promise<unknown>): Promise<bigint> => {
  const before = await gateway.balanceUsdMicro()
  await call()
  await gateway.lastSettlement()
  return before - (await gateway.balanceUsdMicro())
}

const post = (body: unknown, path = "/v1/embeddings", key = gateway.key) =>
  fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

describe("the embeddings client", () => {
  it("of the OpenAI SDK receives vectors as base64 or as numbers", async () => {
    for (const format of [{}, { encoding_format: "float" as const }]) {
      gateway.upstream.always(obedient(7))
      const debit = await debitOf(async () => {
        const response = await client.embeddings.create({ model: "vectors", input: ["a", "b"], ...format })
        expect(response.model).toBe("vectors")
        expect(response.data.map(({ embedding }) => [...embedding])).toEqual([
          [0, ...VECTOR],
          [1, ...VECTOR]
        ])
        expect(response.usage).toEqual({ prompt_tokens: 7, total_tokens: 7 })
      })
      expect(debit).toBe(7n)
    }
    const formats = gateway.upstream.requests.map((request) => request.json() as { encoding_format?: string })
    expect(formats.map(({ encoding_format }) => encoding_format)).toEqual(["base64", "float"])
  })

  it("of the OpenAI SDK can send a text or token arrays", async () => {
    gateway.upstream.always(obedient(3))
    for (const input of ["hello", [1, 2, 3], [[1, 2], [3]]]) {
      const { data } = await client.embeddings.create({ model: "vectors", input, dimensions: 4, user: "u" })
      expect(data).toHaveLength(Array.isArray(input) && Array.isArray(input[0]) ? 2 : 1)
      expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ input, dimensions: 4, user: "u" })
    }
  })

  it("of LangChain embeds a query and documents", async () => {
    gateway.upstream.always(obedient(5))
    const model = new OpenAIEmbeddings({
      model: "vectors",
      apiKey: gateway.key,
      maxRetries: 0,
      configuration: { baseURL: `${gateway.url}/v1` }
    })
    const debit = await debitOf(async () => {
      expect([...(await model.embedQuery("hello"))]).toEqual([0, ...VECTOR])
      const documents = await model.embedDocuments(["a", "b", "c"])
      expect(documents.map((each) => [...each])).toEqual([0, 1, 2].map((index) => [index, ...VECTOR]))
    })
    expect(debit).toBe(10n)
  })

  it("of the AI SDK embeds one value and several values", async () => {
    gateway.upstream.always(obedient(6))
    const model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key }).textEmbeddingModel("vectors")
    const debit = await debitOf(async () => {
      const one = await embed({ model, value: "hello", maxRetries: 0 })
      expect([one.embedding, one.usage.tokens]).toEqual([[0, ...VECTOR], 6])
      const many = await embedMany({ model, values: ["a", "b"], maxRetries: 0 })
      expect(many.embeddings).toEqual([0, 1].map((index) => [index, ...VECTOR]))
    })
    expect(debit).toBe(12n)
  })

  it("of the OpenAI SDK raises an error with the code of a refusal", async () => {
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "tg_wrong", maxRetries: 0 })
    const ask = { model: "vectors", input: "a" }
    await expect(stranger.embeddings.create(ask)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" })
    await expect(client.embeddings.create({ ...ask, model: "unknown" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      requestID: expect.stringMatching(/^[0-9a-f-]{36}$/)
    })
  })
})

describe("an embeddings request", () => {
  it("reaches the upstream unchanged except for the model name", async () => {
    gateway.upstream.next(embeddings(1, { prompt_tokens: 1, total_tokens: 1 }))
    const body = `{ "seed": 12345678901234567890, "model" : "vectors", "input":"\\u00e9","encoding_format":"ubinary","x":1.0 }`
    expect((await post(body)).status).toBe(200)
    const request = gateway.upstream.requests.at(-1)
    expect(request?.path).toBe("/v1/embeddings")
    expect(request?.body.toString("utf8")).toBe(body.replace('"vectors"', '"upstream-model"'))
    expect(request?.headers.authorization).not.toContain(gateway.key)
  })

  it.each([
    ["stream", { input: "a", stream: true }],
    ["input", {}],
    ["input[1]", { input: ["a", [1]] }]
  ])("is refused because of its member %s", async (param, body) => {
    const before = gateway.upstream.requests.length
    const response = await post({ model: "vectors", ...body })
    expect(response.status).toBe(400)
    const { type, error } = (await response.json()) as { type: string; error: object }
    expect(type).toBe("error")
    expect(error).toMatchObject({ type: "invalid_request_error", code: "invalid_request", param })
    expect(gateway.upstream.requests.length).toBe(before)
  })

  it.each([
    ["a text model at /v1/embeddings", "/v1/embeddings", { model: "m", input: "a" }, 404, "model_not_found"],
    ["an image model at /v1/embeddings", "/v1/embeddings", { model: "picture", input: "a" }, 404, "model_not_found"],
    [
      "an embedding model at /v1/chat/completions",
      "/v1/chat/completions",
      { model: "vectors", messages: [{ role: "user", content: "a" }] },
      404,
      "model_not_found"
    ],
    [
      "an embedding model at /v1/messages",
      "/v1/messages",
      { model: "vectors", max_tokens: 1, messages: [{ role: "user", content: "a" }] },
      404,
      "model_not_found"
    ],
    ["an embedding model at /v1/responses", "/v1/responses", { model: "vectors", input: "a" }, 404, "model_not_found"],
    [
      "an embedding model at /v1/images/generations",
      "/v1/images/generations",
      { model: "vectors", prompt: "a" },
      400,
      "unsupported_endpoint"
    ]
  ])("is refused for the wrong kind of model: %s", async (_, path, body, status, code) => {
    const response = await post(body, path)
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }])
  })
})

describe("an embedding model", () => {
  it("is in the list of models", async () => {
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id)).toContain("vectors")
  })
})

describe("the charge of embeddings", () => {
  it("is the price of the reported input tokens", async () => {
    gateway.upstream.next(embeddings(1, { prompt_tokens: 1_234, total_tokens: 1_234 }))
    expect(await debitOf(() => post({ model: "vectors", input: "a" }))).toBe(1_234n)
    expect(await gateway.lastSettlement()).toMatchObject({
      ending: "complete",
      usage_source: "upstream",
      charged_input: 1_234n,
      charged_cache_read: 0n,
      charged_cache_write: 0n,
      charged_output: 0n,
      cost_pico: 1_234_000_000n
    })
  })

  it("without reported usage follows a local token count", async () => {
    gateway.upstream.next(embeddings(3))
    const debit = await debitOf(async () => {
      const response = await post({ model: "vectors", input: ["hello", "hello", " hello hello"] })
      expect(await response.json()).not.toHaveProperty("usage")
    })
    expect(debit).toBe(4n)
    expect(await gateway.lastSettlement()).toMatchObject({
      usage_source: "local",
      charged_input: 4n,
      charged_output: 0n
    })
  })

  it("without reported usage follows the length of token arrays", async () => {
    gateway.upstream.next(embeddings(2))
    expect(await debitOf(() => post({ model: "vectors", input: [[11, 12, 13], [14]] }))).toBe(4n)
  })

  it("is zero when the upstream reports zero usage", async () => {
    gateway.upstream.next(embeddings(1, { prompt_tokens: 0, total_tokens: 0 }))
    expect(await debitOf(() => post({ model: "vectors", input: "a" }))).toBe(0n)
  })

  it.each([
    ["refuses the request", json(errorBody("the input is too long"), 400), 400, "invalid_request"],
    ["limits requests", json(errorBody("slow down"), 429), 429, "technical_limit"],
    ["fails", json(errorBody("broken"), 500), 502, "upstream_error"],
    ["closes the connection", closeImmediately, 502, "upstream_error"],
    ["sends no embeddings", json({ object: "list", data: [], usage: { prompt_tokens: 9 } }), 502, "upstream_error"],
    ["sends a stream", script({ steps: [] }), 502, "upstream_error"]
  ])("is zero when the upstream %s", async (_, upstream, status, code) => {
    gateway.upstream.next(upstream)
    const debit = await debitOf(async () => {
      const response = await post({ model: "vectors", input: "a" })
      expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }])
    })
    expect(debit).toBe(0n)
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "failed", cost_pico: 0n })
  })

  it("is zero when the client disconnects before the response", async () => {
    gateway.upstream.always(script({ status: "none", steps: [stall] }))
    const before = gateway.upstream.requests.length
    const raw = await RawClient.post(gateway.url, "/v1/embeddings", {
      key: gateway.key,
      body: { model: "vectors", input: "a" }
    })
    await until(() => gateway.upstream.requests.length > before)
    const debit = await debitOf(async () => {
      raw.leave()
      await gateway.upstream.requests.at(-1)?.left
    })
    expect(debit).toBe(0n)
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", cost_pico: 0n })
  })

  it("is zero when the client disconnects while the upstream responds", async () => {
    const half = bytes('{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5')
    const headers = { "content-type": "application/json" }
    gateway.upstream.always(script({ headers, steps: [half, stall] }))
    const before = gateway.upstream.requests.length
    const raw = await RawClient.post(gateway.url, "/v1/embeddings", {
      key: gateway.key,
      body: { model: "vectors", input: "a" }
    })
    await until(() => (gateway.upstream.requests[before]?.sentBytes() ?? 0) > 0)
    const debit = await debitOf(async () => {
      raw.reset()
      await gateway.upstream.requests.at(-1)?.left
    })
    expect(debit).toBe(0n)
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", cost_pico: 0n })
  })

  it("is unchanged when the client disconnects after the response", async () => {
    gateway.upstream.next(embeddings(1, { prompt_tokens: 9, total_tokens: 9 }))
    const debit = await debitOf(async () => {
      const raw = await RawClient.post(gateway.url, "/v1/embeddings", {
        key: gateway.key,
        body: { model: "vectors", input: "a" }
      })
      await raw.until(({ whole }) => whole)
      raw.leave()
    })
    expect(debit).toBe(9n)
  })

  it("causes 402 if even the smallest possible charge exceeds the balance", async () => {
    const poor = await gateway.newCustomer(0n)
    const response = await post({ model: "vectors", input: "a" }, "/v1/embeddings", poor.key)
    expect([response.status, await response.json()]).toMatchObject([402, { error: { code: "insufficient_balance" } }])
    // 4 micro-USD pay for four input tokens.
    const exact = await gateway.newCustomer(4n)
    const five = await post({ model: "vectors", input: [1, 2, 3, 4, 5] }, "/v1/embeddings", exact.key)
    expect(five.status).toBe(402)
    gateway.upstream.next(embeddings(1, { prompt_tokens: 4, total_tokens: 4 }))
    const four = await post({ model: "vectors", input: [1, 2, 3, 4] }, "/v1/embeddings", exact.key)
    expect(four.status).toBe(200)
    await gateway.lastSettlement()
    expect(await gateway.balanceUsdMicro(exact)).toBe(0n)
  })
})

describe("embeddings", () => {
  it("are counted in the rankings with all consumed tokens", async () => {
    const [sums] = await gateway.query<{ settled: bigint; ranked: bigint }>(`
      SELECT (SELECT sum(consumed_input) FROM settlement WHERE protocol = 'embeddings')::text AS settled,
        (SELECT sum(tokens) FROM (SELECT tokens FROM usage_delta UNION ALL
          SELECT tokens FROM usage_rollup WHERE grain = 'day') AS counted)::text AS ranked`)
    expect(Number(sums?.settled)).toBeGreaterThan(1_234)
    expect(sums?.ranked).toBe(sums?.settled)
  })

  it("do not reveal the provider", () => {
    expect(gateway.leaks).toEqual([])
  })
})
