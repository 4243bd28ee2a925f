/**
 * Tests lists, filters of usage and CSV files over HTTP (docs/reference/reseller.md#lists-and-csv-files).
 */
import { KeyUses } from "@tollgate/application/customer/KeyLists"
import { parse } from "csv-parse/sync"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start()
})
afterAll(() => programme.close())

const aKey = async ({ token }: Actor, userId: string, name: string) =>
  (await programme.post(`/api/reseller/customers/${userId}/keys`, { token, body: { name } })).body

/** Sends a request that uses 10 input tokens and 1 output token, and waits for its settlement. */
const spend = async (secret: string, model = "m"): Promise<void> => {
  programme.upstream.next(json(completion({ usage: usage(10, 1) })))
  const body = { model, messages: [{ role: "user", content: "hi" }] }
  const { status, text } = await programme.post("/v1/chat/completions", { token: secret, body })
  if (status !== 200) throw new Error(text)
  await programme.settled()
}

const aTier = async ({ token }: Actor) =>
  textOf(listOf((await programme.get("/api/reseller/tiers", { token })).body.tiers)[0]?.plan_tier_id)

const mint = async (actor: Actor, operation_id: string, customer_email: string): Promise<ApiResponse> => {
  const body = { operation_id, customer_email, plan_tier_id: await aTier(actor) }
  return programme.post("/api/reseller/mint", { token: actor.token, body })
}

const data = (response: ApiResponse) => listOf(response.body.data)

/** Reads all pages of a list. `between` runs after each page except the last. */
const pagesOf = async ({ token }: Actor, path: string, between: () => Promise<unknown> = async () => {}) => {
  const rows: Array<Json> = []
  for (let cursor = ""; ; ) {
    const { body, text, status } = await programme.get(`${path}?limit=2${cursor}`, { token })
    if (status !== 200) throw new Error(text)
    rows.push(...listOf(body.data))
    if (body.next_cursor === null) return rows
    cursor = `&cursor=${textOf(body.next_cursor)}`
    await between()
  }
}

const rowsIn = ({ text }: ApiResponse): ReadonlyArray<Record<string, string>> => parse(text, { columns: true })

describe("the list of keys", () => {
  it("has the prefix, the owner and the times of each key", async () => {
    const reseller = await programme.reseller()
    const { userId, email } = await programme.customerOf(reseller, 1_000_000n)
    const key = await aKey(reseller, userId, "laptop")
    const secret = textOf(key.secret)
    const listed = await programme.get("/api/reseller/keys", reseller)
    const expected = {
      key_id: key.key_id,
      prefix: secret.split("_").slice(0, 2).join("_"),
      name: "laptop",
      user_id: userId,
      email,
      created_at: expect.stringMatching(TIME),
      last_used_at: null,
      revoked_at: null,
      limits: null
    }
    expect(listed.body).toEqual({ data: [expected], next_cursor: null })
    expect(listed.text).not.toContain(secret.split("_")[2])

    await spend(secret)
    await programme.run(Effect.flatMap(KeyUses, ({ record }) => record))
    await programme.delete(`/api/reseller/keys/${textOf(key.key_id)}`, reseller)
    const later = await programme.get(`/api/reseller/customers/${userId}/keys`, reseller)
    const times = { last_used_at: expect.stringMatching(TIME), revoked_at: expect.stringMatching(TIME) }
    expect(data(later)).toEqual([{ ...expected, ...times }])
  })

  it("has each earlier key once while new keys are created", async () => {
    const reseller = await programme.reseller()
    const [one, two] = [await programme.customerOf(reseller), await programme.customerOf(reseller)]
    for (let i = 0; i < 5; i++) await aKey(reseller, (i % 2 === 0 ? one : two).userId, `key ${i}`)
    const names = (await pagesOf(reseller, "/api/reseller/keys", () => aKey(reseller, one.userId, "later"))).map(
      ({ name }) => name
    )
    expect(names).toEqual(["key 4", "key 3", "key 2", "key 1", "key 0"])
    const own = await pagesOf(reseller, `/api/reseller/customers/${two.userId}/keys`)
    expect(own.map(({ name }) => name)).toEqual(["key 3", "key 1"])
  })

  it("contains no keys of another reseller's customers", async () => {
    const [mine, other] = [await programme.reseller(), await programme.reseller()]
    const { userId } = await programme.customerOf(other)
    await aKey(other, userId, "theirs")
    expect(data(await programme.get("/api/reseller/keys", mine))).toEqual([])
    for (const id of [userId, UNKNOWN_ID, "me"]) {
      const refused = await programme.get(`/api/reseller/customers/${id}/keys`, mine)
      expect(refusalIn(refused)).toBe("404 not_found")
    }
  })
})

describe("the list of mints", () => {
  it("has each earlier mint once while new mints are booked", async () => {
    const reseller = await programme.reseller({ quotaUsdMicro: 1_000_000_000n })
    const { userId, email } = await programme.customerOf(reseller)
    const results: Array<Json> = []
    for (let i = 0; i < 5; i++) results.push((await mint(reseller, `op ${i}`, email)).body)
    let more = 0
    const mints = await pagesOf(reseller, "/api/reseller/mints", () => mint(reseller, `later ${more++}`, email))
    expect(mints.map(({ operation_id }) => operation_id)).toEqual(["op 4", "op 3", "op 2", "op 1", "op 0"])
    const { already_applied: _, ...result } = results[4] ?? {}
    expect(mints[0]).toEqual({
      ...result,
      operation_id: "op 4",
      customer_user_id: userId,
      customer_email: email,
      plan_tier_id: await aTier(reseller),
      model_name: "m",
      minted_at: expect.stringMatching(TIME)
    })
    expect(data(await programme.get("/api/reseller/mints", await programme.reseller()))).toEqual([])
    expect(data(await programme.get("/api/reseller/mints?to=2026-01-01", reseller))).toEqual([])
  })
})

describe("the usage of customers", () => {
  it("can be filtered by customer, model and day", async () => {
    const reseller = await programme.reseller()
    const [one, two] = [
      await programme.customerOf(reseller, 1_000_000n),
      await programme.customerOf(reseller, 1_000_000n)
    ]
    for (const { userId } of [one, two, two]) await spend(textOf((await aKey(reseller, userId, "key")).secret))
    const count = async (query: string) => data(await programme.get(`/api/reseller/usage?${query}`, reseller)).length
    const sums = async (query: string) =>
      listOf((await programme.get(`/api/reseller/usage/daily?${query}`, reseller)).body.days)
    expect(await count("")).toBe(3)
    expect(await count(`customer=${two.userId}`)).toBe(2)
    expect(await count("model=m")).toBe(3)
    for (const query of ["model=other", "to=2026-01-01", `customer=${UNKNOWN_ID}`]) {
      expect(await count(query)).toBe(0)
      expect(await sums(query)).toEqual([])
    }
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    expect(await sums("")).toEqual([{ date, requests: 3, total_tokens: 33, display_cost_usd_micro: "36" }])
    expect(await sums(`customer=${one.userId}&model=m`)).toMatchObject([{ requests: 1, total_tokens: 11 }])
    const { body } = await programme.get("/api/reseller/usage/daily", reseller)
    expect(body).toMatchObject({ time_zone: "Asia/Jakarta", from: date, to: date })
    const other = await programme.reseller()
    const foreign = await programme.get(`/api/reseller/usage/daily?customer=${two.userId}`, other)
    expect(listOf(foreign.body.days)).toEqual([])
  })
})

describe("a list or CSV file of a reseller", () => {
  it.each([
    ["usage", "from=2026-02-30", "from"],
    ["usage", "from=2026-11-02&to=2026-11-01", "to"],
    ["usage", "customer=me", "customer"],
    ["usage", "model=", "model"],
    ["usage", "from=2026-01-01&from=2026-01-02", "from"],
    ["usage/daily", "from=2026-01-01&to=2026-06-01", "from"],
    ["usage.csv", "to=tomorrow", "to"],
    ["mints", "from=x", "from"],
    ["mints", "cursor=x", "cursor"],
    ["mints.csv", "from=x", "from"],
    ["topups.csv", "from=x", "from"],
    ["quota.csv", "from=x", "from"],
    ["keys", "limit=0", "limit"],
    ["keys", "cursor=dTEgMTc2MzYzMTAwMDAwMDAwMCAwMTlhOWYwZQ.Zm9y", "cursor"]
  ])("is refused with 422 validation_error at %s?%s", async (path, query, parameter) => {
    const refused = await programme.get(`/api/reseller/${path}?${query}`, await programme.reseller())
    expect(refusalIn(refused)).toBe("422 validation_error")
    expect(pathsIn(refused)).toEqual([parameter])
  })

  it("has a cursor that another list does not accept", async () => {
    const reseller = await programme.reseller()
    const { userId } = await programme.customerOf(reseller)
    for (const name of ["a", "b"]) await aKey(reseller, userId, name)
    const { next_cursor } = (await programme.get("/api/reseller/keys?limit=1", reseller)).body
    const refused = await programme.get(`/api/reseller/mints?cursor=${textOf(next_cursor)}`, reseller)
    expect(refusalIn(refused)).toBe("422 validation_error")
  })
})

describe("a CSV file", () => {
  it("of usage has the items of the list", async () => {
    const reseller = await programme.reseller()
    const { userId } = await programme.customerOf(reseller, 1_000_000n)
    const secret = textOf((await aKey(reseller, userId, "key")).secret)
    for (let i = 0; i < 2; i++) await spend(secret)
    const csv = await programme.get("/api/reseller/usage.csv", reseller)
    expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8")
    expect(csv.headers.get("content-disposition")).toBe('attachment; filename="usage.csv"')
    expect(csv.headers.get("cache-control")).toBe("no-store")
    const rows = rowsIn(csv).map(({ request_id: _, total_tokens, ...row }) => ({
      ...row,
      total_tokens: Number(total_tokens)
    }))
    expect(rows).toEqual(data(await programme.get("/api/reseller/usage", reseller)))
    expect(rows).toHaveLength(2)
    expect((await programme.get("/api/reseller/usage.csv?to=2026-01-01", reseller)).text.split("\r\n")).toHaveLength(2)
  })

  it("of mints, top-ups or quota movements has the reseller's rows", async () => {
    const reseller = await programme.reseller({ quotaUsdMicro: 100_000_000n })
    const { email } = await programme.customerOf(reseller)
    const formula = '=HYPERLINK("https://example.com","a,b")'
    await mint(reseller, formula, email)
    const order = await programme.post("/api/reseller/topup", {
      token: reseller.token,
      body: { method: "qris", amount_idr: 10_000 }
    })
    const mints = rowsIn(await programme.get("/api/reseller/mints.csv", reseller))
    expect(mints).toMatchObject([{ operation_id: `'${formula}`, customer_email: email, model_name: "m" }])
    const topUps = rowsIn(await programme.get("/api/reseller/topups.csv", reseller))
    expect(topUps).toMatchObject([
      { order_number: order.body.order_number, amount_idr: "10000", fee_idr: "500", status: "pending", paid_at: "" }
    ])
    const movements = rowsIn(await programme.get("/api/reseller/quota.csv", reseller))
    expect(movements.map(({ kind, reference }) => [kind, reference])).toEqual([
      ["mint", `'${formula}`],
      ["adjustment", ""]
    ])
    expect(movements[0]?.change_usd_micro).toBe(`-${mints[0]?.price_usd_micro}`)
    const sum = movements.reduce((total, { change_usd_micro = "" }) => total + BigInt(change_usd_micro), 0n)
    const { balance_usd_micro } = (await programme.get("/api/reseller/balance", reseller)).body
    expect(sum.toString()).toBe(balance_usd_micro)
    for (const file of ["mints", "topups", "quota"]) {
      expect(rowsIn(await programme.get(`/api/reseller/${file}.csv`, await programme.reseller()))).toEqual([])
    }
  })
})
