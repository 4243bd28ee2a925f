/**
 * Tests tiers and mints over HTTP (docs/reference/reseller.md#tiers-and-mints, docs/reference/errors.md#err-6).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, type Customer, TestProgramme } from "../support/TestProgramme.ts"

let programme: TestProgramme
let tiers: ReadonlyArray<Json>
let customer: Customer
beforeAll(async () => {
  programme = await TestProgramme.start()
  const reseller = await programme.reseller()
  tiers = listOf((await programme.get("/api/reseller/tiers", reseller)).body.tiers)
  customer = await programme.customerOf(reseller)
})
afterAll(() => programme.close())

const tierOf = (model: string, cents: number): string =>
  textOf(
    tiers.find(({ model_name, tier_usd_cents }) => `${model_name} ${tier_usd_cents}` === `${model} ${cents}`)
      ?.plan_tier_id
  )
const rich = () => programme.reseller({ quotaUsdMicro: 1_000_000_000n })

let count = 0
const request = (members: object = {}) => ({
  operation_id: `operation ${++count}`,
  customer_email: customer.email,
  plan_tier_id: tierOf("m", 500),
  ...members
})
const mint = ({ token }: Actor, body: unknown): Promise<ApiResponse> =>
  programme.post("/api/reseller/mint", { token, body })
const quotaOf = async ({ token }: Actor) =>
  textOf((await programme.get("/api/reseller/balance", { token })).body.balance_usd_micro)

describe("the tier list", () => {
  it("contains the tiers for sale, sorted by price", async () => {
    const response = await programme.get("/api/reseller/tiers", await programme.reseller())
    const tier = (model_name: string, tier_usd_cents: number, granted_tokens: number) => ({
      plan_tier_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      model_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      model_name,
      tier_usd_cents,
      price_usd_micro: tier_usd_cents * 10_000,
      granted_tokens,
      topup_idr_required: tier_usd_cents * 100
    })
    expect(response.status).toBe(200)
    expect(response.body).toEqual({
      tiers: [tier("m", 100, 300_000), tier("a", 500, 1_500_000), tier("m", 500, 2_000_000)]
    })
    expect(response.headers.get("cache-control")).toBe("no-store")
  })
})

describe("a mint", () => {
  it("debits its price from the quota", async () => {
    const reseller = await programme.reseller({ quotaUsdMicro: 12_000_000n })
    const { status, headers, body } = await mint(reseller, request({ anything: "else" }))
    expect(status).toBe(200)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(body).toEqual({
      customer_user_id: customer.userId,
      model_id: textOf(tiers.find(({ model_name }) => textOf(model_name) === "m")?.model_id),
      granted_tokens: 2_000_000,
      price_usd_micro: "5000000",
      balance_after: "7000000",
      already_applied: false
    })
    expect(await quotaOf(reseller)).toBe("7000000")
  })

  it("adds its tokens to the customer's plan for the model", async () => {
    const reseller = await rich()
    const mine = await programme.customerOf(reseller)
    const mints = [tierOf("m", 500), tierOf("m", 100), tierOf("a", 500)]
    for (const plan_tier_id of mints)
      await mint(reseller, request({ plan_tier_id, customer_email: mine.email.toUpperCase() }))
    const { body } = await programme.get(`/api/reseller/customers/${mine.userId}/balances`, reseller)
    const plan = (model: string, tokens: number) => ({
      model,
      purchased_tokens: tokens,
      used_tokens: 0,
      remaining_tokens: tokens,
      status: "active"
    })
    expect(body.token_plans).toEqual([plan("a", 1_500_000), plan("m", 2_300_000)])
  })

  it("returns the same result when it is repeated", async () => {
    const reseller = await rich()
    const body = request()
    const first = await mint(reseller, body)
    const after = await quotaOf(reseller)
    await mint(reseller, request())
    const again = await mint(reseller, { ...body, customer_email: ` ${customer.email.toUpperCase()}` })
    expect({ status: again.status, body: again.body }).toEqual({
      status: 200,
      body: { ...first.body, already_applied: true }
    })
    expect(BigInt(after) - BigInt(await quotaOf(reseller))).toBe(5_000_000n)
  })

  it("is applied once when 20 equal requests arrive in parallel", async () => {
    const reseller = await rich()
    const body = request()
    const responses = await Promise.all(Array.from({ length: 20 }, () => mint(reseller, body)))
    expect(responses.filter(({ body }) => body.already_applied?.valueOf() === false)).toHaveLength(1)
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await quotaOf(reseller)).toBe("995000000")
  })

  it("returns 409 idempotency_conflict for an operation_id with another payload", async () => {
    const reseller = await rich()
    const body = request()
    await mint(reseller, body)
    expect(refusalIn(await mint(reseller, { ...body, plan_tier_id: tierOf("a", 500) }))).toBe(
      "409 idempotency_conflict"
    )
    const { email } = await programme.customerOf(reseller)
    expect(refusalIn(await mint(reseller, { ...body, customer_email: email }))).toBe("409 idempotency_conflict")
    expect((await mint(await rich(), body)).status).toBe(200)
  })

  it("returns 402 insufficient_quota without enough quota", async () => {
    const reseller = await programme.reseller({ quotaUsdMicro: 4_999_999n })
    const body = request()
    expect(refusalIn(await mint(reseller, body))).toBe("402 insufficient_quota")
    expect(await quotaOf(reseller)).toBe("4999999")
    const cheaper = await mint(reseller, { ...body, plan_tier_id: tierOf("m", 100) })
    expect({ status: cheaper.status, after: cheaper.body.balance_after }).toEqual({ status: 200, after: "3999999" })
  })

  it("returns 422 tier_not_available for a tier that is not for sale", async () => {
    const reseller = await rich()
    const [hidden] = await programme.query<{ id: string }>("SELECT id FROM tier WHERE NOT for_sale")
    for (const plan_tier_id of [hidden?.id, "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70", "gold", "'"]) {
      expect(refusalIn(await mint(reseller, request({ plan_tier_id })))).toBe("422 tier_not_available")
    }
  })

  it.each<readonly [string, unknown, ReadonlyArray<string>]>([
    ["a body without members", {}, ["operation_id", "customer_email", "plan_tier_id"]],
    ["an empty operation_id", { operation_id: "" }, ["operation_id"]],
    ["an operation_id of 129 characters", { operation_id: "x".repeat(129) }, ["operation_id"]],
    ["an operation_id that is a number", { operation_id: 7 }, ["operation_id"]],
    ["an invalid email", { customer_email: "customer" }, ["customer_email"]],
    ["an email that no user has", { customer_email: "unknown@example.com" }, ["customer_email"]],
    ["a tier id that is null", { plan_tier_id: null }, ["plan_tier_id"]]
  ])("returns 422 validation_error for %s", async (what, members, paths) => {
    const reseller = await rich()
    const response = await mint(reseller, what === "a body without members" ? members : request(members as object))
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual(paths)
  })

  it("accepts an operation_id of 128 emoji, of a space or with SQL", async () => {
    const reseller = await rich()
    for (const operation_id of ["x".repeat(128), "🪙".repeat(128), " ", "'; DROP TABLE mint; --"]) {
      expect((await mint(reseller, request({ operation_id }))).status).toBe(200)
    }
  })

  it("returns 429 rate_limited after 30 mints in a minute", async () => {
    const reseller = await rich()
    const cheap = tierOf("m", 100)
    const bodies = Array.from({ length: 34 }, () => request({ plan_tier_id: cheap }))
    const responses = await Promise.all(bodies.map((body) => mint(reseller, body)))
    const refused = responses.filter(({ status }) => status !== 200)
    expect(refused.map(refusalIn)).toEqual(Array(4).fill("429 rate_limited"))
    for (const { headers } of refused) expect(headers.get("retry-after")).toMatch(/^([1-9]|[1-5]\d|60)$/)
    const done = bodies[responses.findIndex(({ status }) => status === 200)]
    expect((await mint(reseller, done)).body.already_applied).toBe(true)
    expect(await quotaOf(reseller)).toBe("970000000")
    expect((await mint(await rich(), request())).status).toBe(200)
  })

  it("returns 500 internal_error without internal details after a database error", async () => {
    const reseller = await rich()
    await programme.query("ALTER TABLE mint RENAME TO mint_away")
    const response = await mint(reseller, request()).finally(() =>
      programme.query("ALTER TABLE mint_away RENAME TO mint")
    )
    expect(refusalIn(response)).toBe("500 internal_error")
    expect(response.text).not.toMatch(/relation|mint_away|sql/i)
    const [fault, ...others] = programme.settings.faults.splice(0)
    expect(fault).toContain(response.headers.get("x-request-id"))
    expect(others).toEqual([])
    expect(await quotaOf(reseller)).toBe("1000000000")
  })
})
