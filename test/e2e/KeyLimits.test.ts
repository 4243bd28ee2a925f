/**
 * Tests the limits of API keys with two complete gateways and one database.
 */
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { KeyLimitsChange } from "@tollgate/domain/customer/KeyLimits"
import { Effect } from "effect"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Customer, type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { chunk, completion, usage } from "../support/upstream/ChatWire.ts"
import { again, event, json, script, signal, until as when } from "../support/upstream/Script.ts"

const messages = [{ role: "user" as const, content: "Say hello." }]
const operator = { actor: "test", reason: "required by a test" }
const OUTPUT = 5
/** One token. */
const WORD = " hello"

let a: TestGateway
let b: TestGateway

beforeAll(async () => {
  a = await TestGateway.start()
  b = await TestGateway.start({ beside: a })
  await a.applyCatalogFile(catalog())
  await b.applyCatalogFile(catalog())
})
afterAll(async () => {
  await b.stop()
  await a.close()
})

const model = (public_name: string, members: object = {}) => ({
  public_name,
  display_name: public_name,
  author: "Lab",
  price_usd_micro_per_million_tokens: {
    input: 1_000_000,
    cache_read: 1_000_000,
    cache_write: 1_000_000,
    output: 2_000_000
  },
  routes: [{ provider: "lab", upstream_model: "upstream-model" }],
  ...members
})

const catalog = () => ({
  providers: [
    {
      name: "lab",
      base_url: a.upstream.baseUrl,
      api_key_env: "PROVIDER_KEY",
      protocols: ["chat", "messages", "responses", "images", "embeddings"]
    }
  ],
  models: [
    model("m"),
    model("n"),
    model("e", { kind: "embedding" }),
    model("i", { kind: "image", capabilities: ["generate"] })
  ]
})

const client = (gateway: TestGateway, { key }: Customer) =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })

const TWO_HUNDRED = Array.from({ length: 200 })

/** Returns the prompt tokens that the hold of a request sets aside, so that a response can cost exactly its hold. */
const heldPrompt = async (): Promise<number> => {
  const probe = await limited({ spend_usd_micro_total: 1_000_000 })
  const gate = signal()
  const whole = json(completion({ usage: usage(1, 1) }))
  a.upstream.next({ ...whole, steps: [when(gate), ...whole.steps] })
  const response = post(a, probe)
  let held: bigint | undefined
  await until(async () => {
    const [row] = await a.query<{ key_tokens: bigint }>("SELECT key_tokens FROM open_request WHERE user_id = $1", [
      probe.userId
    ])
    held = row?.key_tokens
    return held !== undefined
  })
  gate.fire()
  await response
  return Number(held) - OUTPUT
}

const limited = async (change: KeyLimitsChange): Promise<Customer> => {
  const customer = await a.newCustomer(1_000_000n)
  await limit(customer, change)
  return customer
}

const limit = async ({ userId }: Customer, change: KeyLimitsChange) => {
  const [row] = await a.query<{ id: string }>("SELECT id FROM api_key WHERE user_id = $1", [userId])
  const keyId = ApiKeyId.make(row?.id ?? "")
  await a.run(Effect.flatMap(KeyLimitStore, (store) => store.change(keyId, change, operator)))
}

/** Reads a stream to its end. Returns the number of received tokens, and the code of the error that ended it. */
const received = async (gateway: TestGateway, customer: Customer) => {
  let tokens = 0n
  try {
    const stream = await client(gateway, customer).chat.completions.create({ model: "m", messages, stream: true })
    for await (const { choices } of stream) if (choices[0]?.delta.content === WORD) tokens += 1n
    return { tokens, code: undefined }
  } catch (error) {
    return { tokens, code: (error as { code?: unknown }).code }
  }
}

const settlementsOf = ({ userId }: Customer) =>
  a.query<SettlementRow>("SELECT * FROM settlement WHERE user_id = $1", [userId])

interface Refused {
  readonly status: number
  readonly code: string
  readonly headers: Headers
}

const post = (gateway: TestGateway, customer: Customer): Promise<Refused | "served"> =>
  send(gateway, customer, "chat/completions", { model: "m", messages, max_tokens: OUTPUT })

const send = async (
  gateway: TestGateway,
  { key }: Customer,
  path: string,
  body: object
): Promise<Refused | "served"> => {
  const response = await fetch(`${gateway.url}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (response.status === 200) return "served"
  return { status: response.status, code: JSON.parse(text).error.code, headers: response.headers }
}

const costOf = (rows: ReadonlyArray<SettlementRow>) => rows.reduce((sum, row) => sum + row.cost_pico, 0n)

describe("key limits over two servers", () => {
  it("allow ten of 200 requests if the budget covers ten", async () => {
    const prompt = await heldPrompt()
    const costUsdMicro = prompt + 2 * OUTPUT
    const customer = await limited({ spend_usd_micro_per_day: 10 * costUsdMicro })
    a.upstream.always(json(completion({ usage: usage(prompt, OUTPUT) })))
    const results = await Promise.all(TWO_HUNDRED.map((_, i) => post(i % 2 === 0 ? a : b, customer)))
    expect(results.filter((result) => result === "served")).toHaveLength(10)
    for (const result of results)
      if (result !== "served") expect(result).toMatchObject({ status: 402, code: "key_budget_exceeded" })
    const rows = await settlementsOf(customer)
    expect(rows).toHaveLength(10)
    expect(costOf(rows)).toBe(BigInt(10 * costUsdMicro) * 1_000_000n)
  })

  it("end streams before they exceed the budget", async () => {
    const customer = await limited({ spend_usd_micro_per_day: 4_000 })
    a.upstream.always(
      script({ steps: [event(chunk({ role: "assistant", content: "" })), again(event(chunk({ content: WORD })))] })
    )
    const streams = await Promise.all(Array.from({ length: 4 }, (_, i) => received(i % 2 === 0 ? a : b, customer)))
    await a.settled()
    const rows = await settlementsOf(customer)
    for (const { code } of streams) expect(code).toBe("key_budget_exceeded")
    for (const row of rows.filter(({ charged_output }) => charged_output > 0n))
      expect(row).toMatchObject({ ending: "balance_exhausted", writeoff_pico: 0n })
    expect(rows.reduce((sum, row) => sum + row.charged_output, 0n)).toBe(
      streams.reduce((sum, { tokens }) => sum + tokens, 0n)
    )
    expect(costOf(rows)).toBeLessThanOrEqual(4_000n * 1_000_000n)
    expect(costOf(rows)).toBeGreaterThan(3_000n * 1_000_000n)
  })

  it("allow 60 of 200 requests at 60 requests per minute", async () => {
    const customer = await limited({ requests_per_minute: 60, tokens_per_minute: 1_000_000 })
    a.upstream.always(json(completion({ usage: usage(1, 1) })))
    const results = await Promise.all(TWO_HUNDRED.map((_, i) => post(i % 2 === 0 ? a : b, customer)))
    expect(results.filter((result) => result === "served")).toHaveLength(60)
    const refused = results.filter((result) => result !== "served")
    for (const refusal of refused) expect(refusal).toMatchObject({ status: 429, code: "rate_limited" })
    const { headers } = refused[0] as Refused
    expect(headers.get("retry-after")).toMatch(/^([1-9]|[1-5]\d|60)$/)
    expect(headers.get("x-ratelimit-limit-requests")).toBe("60")
    expect(headers.get("x-ratelimit-remaining-requests")).toBe("0")
    expect(headers.get("x-ratelimit-reset-requests")).toMatch(/^\d+s$/)
    expect(headers.get("x-ratelimit-limit-tokens")).toBe("1000000")
    await expect(client(b, customer).chat.completions.create({ model: "m", messages })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError
    )
  })

  it("refuse an expired key with 401", async () => {
    const customer = await limited({ expires_at: "2099-01-01T00:00:00Z" })
    a.upstream.always(json(completion({ usage: usage(1, 1) })))
    expect([await post(a, customer), await post(b, customer)]).toEqual(["served", "served"])
    await limit(customer, { expires_at: "2026-01-01T00:00:00Z" })
    for (const gateway of [a, b])
      expect(await post(gateway, customer)).toMatchObject({ status: 401, code: "invalid_api_key" })
  })

  it("hide a model that the key cannot call", async () => {
    const customer = await limited({ models: ["m"] })
    const names = async (gateway: TestGateway) => {
      const { data } = await client(gateway, customer).models.list()
      return data.map(({ id }) => id)
    }
    a.upstream.always(json(completion({ usage: usage(1, 1) })))
    expect(await post(b, customer)).toBe("served")
    expect(await names(b)).toEqual(["m"])
    await limit(customer, { models: ["e", "n"] })
    await until(async () => (await names(b)).join() === "e,n")
    expect(await post(b, customer)).toMatchObject({ status: 404, code: "model_not_found" })
    await expect(client(b, customer).models.retrieve("m")).rejects.toBeInstanceOf(OpenAI.NotFoundError)
  })

  it.each([
    ["chat/completions", { model: "m", messages }],
    ["messages", { model: "m", messages, max_tokens: OUTPUT }],
    ["responses", { model: "m", input: "Say hello." }],
    ["embeddings", { model: "e", input: "Say hello." }],
    ["images/generations", { model: "i", prompt: "A quiet harbour." }]
  ])("apply to /v1/%s", async (path, body) => {
    const customer = await limited({ spend_usd_micro_total: 0 })
    const ask = () => send(b, customer, path, body)
    expect(await ask()).toMatchObject({ status: 402, code: "key_budget_exceeded" })
    await limit(customer, { spend_usd_micro_total: null, models: ["n"] })
    await until(async () => ((await ask()) as Refused).status === 404)
    expect(await ask()).toMatchObject({ status: 404, code: "model_not_found" })
  })
})
