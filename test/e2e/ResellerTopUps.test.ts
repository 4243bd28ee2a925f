/**
 * Tests top-ups over HTTP with simulated payment providers (docs/reference/reseller.md#top-ups).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { quietZoneOf, readQrPicture } from "../support/QrPicture.ts"
import { RawClient } from "../support/RawClient.ts"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, jsonOf, listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"

const TOPUP = "/api/reseller/topup"
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

let programme: TestProgramme
let reseller: Actor
beforeAll(async () => {
  programme = await TestProgramme.start()
  reseller = await programme.reseller()
})
afterAll(() => programme.close())

const order = (body: object, { token }: Actor = reseller): Promise<ApiResponse> =>
  programme.post(TOPUP, { token, body })
const read = (id: Json | undefined, { token }: Actor = reseller): Promise<ApiResponse> =>
  programme.get(`${TOPUP}/${textOf(id)}`, { token })
const quotaOf = async ({ token }: Actor): Promise<bigint> =>
  BigInt(textOf((await programme.get("/api/reseller/balance", { token })).body.balance_usd_micro))

/** Returns the members that every new order has. */
const fresh = (id: Json | undefined) => ({
  id: expect.stringMatching(UUID_V7),
  order_number: `RTO-${textOf(id)}`,
  status: "pending",
  payment_status: "pending",
  provider_payment_id: expect.any(String),
  expires_at: expect.stringMatching(TIME),
  created_at: expect.stringMatching(TIME)
})

const methods = [
  { method: "qris", amount_idr: 250_000 },
  { method: "hosted_qris", amount_idr: 250_000 },
  { method: "crypto", amount_usd_micro: 25_000_000 },
  { method: "crypto_bep20", amount_usd_micro: 25_000_000 }
]

describe("a new top-up order", () => {
  it("by qris has rupiah amounts with a fee and a QR image", async () => {
    const { status, headers, body } = await order({ method: "qris", amount_idr: 250_001, token_kind: 7, else: 1 })
    expect(status).toBe(201)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(body).toEqual({
      ...fresh(body.id),
      payment_method: "qris",
      provider: "midtrans-simulator",
      amount_idr: 250_001,
      fee_idr: 12_501,
      total_idr: 262_502,
      quota_usd_micro: 25_000_100,
      qr_content: expect.stringMatching(/^000201/),
      qr_image_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/)
    })
    expect(textOf(body.expires_at) > textOf(body.created_at)).toBe(true)
  })

  it("by hosted_qris has rupiah amounts and a payment page", async () => {
    const { status, body } = await order({ method: "hosted_qris", amount_idr: 250_000, amount_usd_micro: null })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...fresh(body.id),
      payment_method: "hosted_qris",
      provider: "tripay-simulator",
      amount_idr: 250_000,
      fee_idr: 0,
      total_idr: 250_000,
      quota_usd_micro: 25_000_000,
      qr_content: expect.stringMatching(/^000201/),
      payment_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/)
    })
  })

  it("by crypto has deposit addresses and no rupiah amounts", async () => {
    const { status, body } = await order({ method: "crypto", amount_usd_micro: 25_000_001, token_kind: "doge" })
    expect(status).toBe(201)
    const address = {
      network: expect.any(String),
      token_kind: expect.stringMatching(/^usd[tc]$/),
      deposit_address: expect.any(String),
      amount: expect.stringMatching(/^25\.000001/)
    }
    expect(body).toEqual({
      ...fresh(body.id),
      payment_method: "crypto",
      provider: "nowpayments-simulator",
      quota_usd_micro: 25_000_001,
      deposit_addresses: Array(4).fill(address)
    })
  })

  it.each([
    [{}, "usdt", "0x55d398326f99059fF775485246999027B3197955"],
    [{ token_kind: "usdt" }, "usdt", "0x55d398326f99059fF775485246999027B3197955"],
    [{ token_kind: "usdc" }, "usdc", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"]
  ])("by crypto_bep20 with %j has its own deposit address", async (kind, token_kind, contract) => {
    const { status, body } = await order({ method: "crypto_bep20", amount_usd_micro: 1_000_001, ...kind })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...fresh(body.id),
      payment_method: "crypto_bep20",
      provider: "bsc-simulator",
      quota_usd_micro: 1_000_001,
      network: "bsc",
      chain_id: 56,
      token_kind,
      contract_address: contract,
      expected_raw: "1000001000000000000",
      deposit_address: expect.stringMatching(ADDRESS)
    })
    const other = await order({ method: "crypto_bep20", amount_usd_micro: 1_000_001, ...kind })
    expect(textOf(other.body.deposit_address)).not.toBe(textOf(body.deposit_address))
  })

  it.each<readonly [string, unknown, ReadonlyArray<string>]>([
    ["no members", {}, ["method"]],
    ["an unknown method", { method: "cash", amount_idr: 10_000 }, ["method"]],
    ["no amount", { method: "qris" }, ["amount_idr"]],
    ["null for its amount", { method: "crypto", amount_usd_micro: null }, ["amount_usd_micro"]],
    ["an amount in the currency of another method", { method: "qris", amount_usd_micro: 5_000_000 }, ["amount_idr"]],
    ["both amounts", { method: "qris", amount_idr: 10_000, amount_usd_micro: 5_000_000 }, ["amount_usd_micro"]],
    ["both amounts", { method: "crypto_bep20", amount_idr: 10_000, amount_usd_micro: 5_000_000 }, ["amount_idr"]],
    ["an amount that is a string", { method: "qris", amount_idr: "10000" }, ["amount_idr"]],
    ["a fractional amount", { method: "qris", amount_idr: 10_000.5 }, ["amount_idr"]],
    ["an amount that is too large for a number", '{"method":"qris","amount_idr":1e400}', ["amount_idr"]],
    ["an empty operation_id", { method: "qris", amount_idr: 10_000, operation_id: "" }, ["operation_id"]],
    ["an operation_id that is a number", { method: "qris", amount_idr: 10_000, operation_id: 7 }, ["operation_id"]],
    [
      "an unknown token_kind",
      { method: "crypto_bep20", amount_usd_micro: 5_000_000, token_kind: "dai" },
      ["token_kind"]
    ],
    ["a body that is not JSON", "method=qris", [""]]
  ])("is refused with 422 validation_error for %s: %j", async (_, body, paths) => {
    const response = await programme.post(TOPUP, { token: reseller.token, body })
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual(paths)
  })

  it.each([
    ["qris", "amount_idr", 10_000, 9_500_000],
    ["hosted_qris", "amount_idr", 10_000, 5_000_000],
    ["crypto", "amount_usd_micro", 5_000_000, 50_000_000_000],
    ["crypto_bep20", "amount_usd_micro", 1_000_000, 50_000_000_000]
  ])("by %s is refused with 422 amount_out_of_range outside its bounds", async (method, member, min, max) => {
    for (const amount of [min - 1, max + 1, 0, -1, -min, 9_007_199_254_740_991]) {
      const response = await order({ method, [member]: amount })
      expect(refusalIn(response)).toBe("422 amount_out_of_range")
      expect(listOf(response.body.error?.details)).toEqual([{ path: member, message: `${min} to ${max}` }])
    }
    for (const amount of [min, max]) expect((await order({ method, [member]: amount })).status).toBe(201)
  })
})

describe("a top-up order with an operation_id", () => {
  const request = { method: "crypto_bep20", amount_usd_micro: 5_000_000, token_kind: "usdc", operation_id: "order 7" }

  it("is created once by two concurrent requests", async () => {
    const payer = await programme.reseller()
    const both = await Promise.all([order(request, payer), order(request, payer)])
    expect(both.map(({ status }) => status)).toEqual([201, 201])
    const [{ already_applied: first, ...created }, { already_applied: second, ...repeated }] = both.map(
      ({ body }) => body
    ) as [ApiResponse["body"], ApiResponse["body"]]
    expect([first, second].sort()).toEqual([false, true])
    expect(repeated).toEqual(created)
    expect((await order(request, payer)).body).toEqual({ ...created, already_applied: true })
    expect((await programme.get("/api/reseller/topups", payer)).body.total).toBe(1)

    await programme.simulate("pay", textOf(created.order_number))
    await read(created.id, payer)
    expect((await order(request, payer)).body).toMatchObject({ id: created.id, status: "credited" })
    expect((await order({ ...request, operation_id: undefined }, payer)).body.already_applied).toBeUndefined()
    expect((await order(request)).body).toMatchObject({ already_applied: false })
  })

  it.each([
    { amount_usd_micro: 5_000_001 },
    { token_kind: "usdt" },
    { token_kind: null },
    { method: "crypto" },
    { method: "qris", amount_usd_micro: null, amount_idr: 50_000 },
    { amount_idr: 50_000 },
    { amount_usd_micro: 1 }
  ])("is refused with 409 if its operation_id belongs to another order: %j", async (other) => {
    const operation_id = JSON.stringify(other)
    expect((await order({ ...request, operation_id })).status).toBe(201)
    expect(refusalIn(await order({ ...request, operation_id, ...other }))).toBe("409 idempotency_conflict")
  })
})

describe("a paid order", () => {
  it.each(methods.map((request) => [request.method, request] as const))(
    "by %s is credited once with its quota at the next refresh",
    async (_method, request) => {
      const payer = await programme.reseller()
      const created = (await order(request, payer)).body
      expect((await read(created.id, payer)).body).toEqual(created)

      await programme.simulate("pay", textOf(created.order_number))
      const { status, body } = await read(created.id, payer)
      expect(status).toBe(200)
      const { paid_at, credited_at, received_raw, received_micro, ...rest } = body
      expect(rest).toEqual({ ...created, status: "credited", payment_status: "paid" })
      expect({ paid_at, credited_at }).toEqual({
        paid_at: expect.stringMatching(TIME),
        credited_at: expect.stringMatching(TIME)
      })
      const arrived = request.method === "crypto_bep20" ? "25000000000000000000" : undefined
      expect({ received_raw, received_micro }).toEqual({ received_raw: arrived, received_micro: arrived?.slice(0, 8) })
      expect(await quotaOf(payer)).toBe(25_000_000n)

      const again = await programme.post(`${TOPUP}/${textOf(created.id)}/check`, { token: payer.token })
      expect({ status: again.status, body: again.body }).toEqual({ status: 200, body })
      expect(await quotaOf(payer)).toBe(25_000_000n)
    }
  )

  it("is credited by POST /check, which ignores its body", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "qris", amount_idr: 10_000 }, payer)
    await programme.simulate("pay", textOf(body.order_number))
    const check = `${TOPUP}/${textOf(body.id)}/check`
    const response = await programme.post(check, { token: payer.token, body: "not even JSON" })
    expect({ status: response.status, order: response.body.status }).toEqual({ status: 200, order: "credited" })
    expect(await quotaOf(payer)).toBe(1_000_000n)
  })

  it("is credited once by 20 parallel refreshes", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "qris", amount_idr: 20_000 }, payer)
    await programme.simulate("pay", textOf(body.order_number))
    const results = await Promise.all(Array.from({ length: 20 }, () => read(body.id, payer)))
    expect(new Set(results.map(({ status, body }) => `${status} ${textOf(body.status)}`))).toEqual(
      new Set(["200 credited"])
    )
    expect(await quotaOf(payer)).toBe(2_000_000n)
  })

  it("is credited with only its quota, although the payment is larger", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "crypto_bep20", amount_usd_micro: 2_000_000 }, payer)
    await programme.simulate("overpay", textOf(body.order_number))
    expect((await read(body.id, payer)).body).toMatchObject({ status: "credited", received_micro: "2200000" })
    expect(await quotaOf(payer)).toBe(2_000_000n)
  })
})

describe("a partly paid order", () => {
  it("is credited when the rest arrives", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "crypto_bep20", amount_usd_micro: 2_000_000 }, payer)
    await programme.simulate("underpay", textOf(body.order_number))
    const part = (await read(body.id, payer)).body
    expect(part).toEqual({ ...body, received_raw: "1000000000000000000", received_micro: "1000000" })
    expect(await quotaOf(payer)).toBe(0n)
    await programme.simulate("pay", textOf(body.order_number))
    expect((await read(body.id, payer)).body).toMatchObject({ status: "credited", received_micro: "2000000" })
    expect(await quotaOf(payer)).toBe(2_000_000n)
  })

  it("by crypto does not show the received amount", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "crypto", amount_usd_micro: 6_000_000 }, payer)
    await programme.simulate("underpay", textOf(body.order_number))
    expect((await read(body.id, payer)).body).toEqual(body)
    const [row] = await programme.query<{ arrived: string }>(
      "SELECT received_usd_micro AS arrived FROM topup_order WHERE id = $1",
      [textOf(body.id)]
    )
    expect(row?.arrived).toBe("3000000")
  })
})

describe("an order", () => {
  it.each([
    ["expired", "expire"],
    ["failed", "fail"]
  ] as const)("that has %s is credited when it is paid later", async (status, action) => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "hosted_qris", amount_idr: 10_000 }, payer)
    await programme.simulate(action, textOf(body.order_number))
    expect((await read(body.id, payer)).body).toEqual({ ...body, status, payment_status: status })
    await programme.simulate("pay", textOf(body.order_number))
    expect((await read(body.id, payer)).body).toMatchObject({ status: "credited", payment_status: "paid" })
    expect(await quotaOf(payer)).toBe(1_000_000n)
  })
})

describe("the order list", () => {
  it("is divided into pages and sorted from newest to oldest", async () => {
    const payer = await programme.reseller()
    expect((await programme.get("/api/reseller/topups", payer)).text).toBe('{"topups":[],"total":0}')
    const created: Array<Json> = []
    for (const request of [...methods, ...methods, ...methods, ...methods, ...methods, methods[0] as object]) {
      created.unshift((await order(request, payer)).body)
    }
    const listed = created.map(({ provider_payment_id: _, ...rest }) => rest)
    const page = async (query: string) => (await programme.get(`/api/reseller/topups${query}`, payer)).body

    expect(await page("")).toEqual({ topups: listed.slice(0, 20), total: 21 })
    expect(await page("?limit=100")).toEqual({ topups: listed, total: 21 })
    expect(await page("?limit=2&offset=1")).toEqual({ topups: listed.slice(1, 3), total: 21 })
    expect(await page("?offset=20")).toEqual({ topups: listed.slice(20), total: 21 })
    expect(await page("?offset=21")).toEqual({ topups: [], total: 21 })
    expect(await page("?limit=1&something=else")).toEqual({ topups: listed.slice(0, 1), total: 21 })
  })

  it.each([
    "limit=0",
    "limit=101",
    "limit=-1",
    "limit=ten",
    "limit=1.5",
    "limit=",
    "limit=1&limit=2",
    "offset=-1",
    "offset=x",
    "offset=99999999999"
  ])("returns 422 validation_error for %s", async (query) => {
    const response = await programme.get(`/api/reseller/topups?${query}`, reseller)
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual([query.split("=")[0]])
  })
})

describe("an unavailable payment provider", () => {
  it("causes 503 provider_unavailable for new orders", async () => {
    const payer = await programme.reseller()
    await programme.fault("503", "tripay")
    const response = await order({ method: "hosted_qris", amount_idr: 10_000 }, payer).finally(() =>
      programme.fault("none")
    )
    expect(refusalIn(response)).toBe("503 provider_unavailable")
    expect(response.text).not.toMatch(/tripay|simulated/i)
    expect((await programme.get("/api/reseller/topups", payer)).text).toBe('{"topups":[],"total":0}')
  })

  it("does not change stored orders", async () => {
    const payer = await programme.reseller()
    const { body } = await order({ method: "qris", amount_idr: 10_000 }, payer)
    await programme.simulate("pay", textOf(body.order_number))
    await programme.fault("html", "midtrans")
    const response = await read(body.id, payer).finally(() => programme.fault("none"))
    expect({ status: response.status, body: response.body }).toEqual({ status: 200, body })
    expect((await read(body.id, payer)).body.status).toBe("credited")
  })
})

describe("a QRIS order without a provider image", () => {
  let plain: TestProgramme
  let payer: Actor
  beforeAll(async () => {
    plain = await TestProgramme.start({ withoutPictures: true })
    payer = await plain.reseller()
  })
  afterAll(() => plain.close())

  const created = async (): Promise<Json> => {
    const { body } = await plain.post(TOPUP, { token: payer.token, body: { method: "qris", amount_idr: 10_000 } })
    return body
  }

  it("has a QR image that the gateway serves", async () => {
    const { id, qr_content, qr_image_url } = await created()
    expect(textOf(qr_image_url)).toMatch(new RegExp(`^${plain.url}/qr/${textOf(id)}\\.svg\\?t=[\\w-]{43}$`))
    const response = await fetch(textOf(qr_image_url))
    const svg = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("image/svg+xml")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(readQrPicture(svg)).toBe(textOf(qr_content))
    expect(quietZoneOf(svg)).toBe(4)
  })

  it.each([
    ["gateway.example:8443", "http://gateway.example:8443/qr/"],
    ["[::1]:80", "http://[::1]:80/qr/"]
  ])("has an image URL with the scheme http and the host of the Host header: %s", async (host, start) => {
    const client = await RawClient.connect(plain.url)
    const body = JSON.stringify({ method: "qris", amount_idr: 10_000 })
    const bearer = ["authorization", `Bearer ${payer.token}`] as const
    const headers = [bearer, ["content-length", `${body.length}`], ["x-forwarded-proto", "https"]] as const
    client.say(`POST ${TOPUP} HTTP/1.1\r\nhost: ${host}\r\n`)
    client.say(`${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`)
    const response = await client.whole()
    client.leave()
    expect(textOf(jsonOf(response.body).qr_image_url).slice(0, start.length)).toBe(start)
  })

  it("gets the same 404 for an image URL with a wrong id or a wrong seal", async () => {
    const [one, other] = [await created(), await created()]
    const path = (order: Json, query: string) => `/qr/${textOf(order.id)}.svg${query}`
    const queryOf = (order: Json) => new URL(textOf(order.qr_image_url)).search
    const responses = [
      await plain.get(path(one, "")),
      await plain.get(path(one, "?t=")),
      await plain.get(path(one, queryOf(other))),
      await plain.get(path(one, `${queryOf(one)}&t=x`)),
      await plain.get(path({ id: "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70" as never }, queryOf(one))),
      await plain.get(path({ id: "x" as never }, queryOf(one)))
    ]
    expect(responses.map(refusalIn)).toEqual(Array(6).fill("404 topup_not_found"))
    expect(new Set(responses.map(({ body }) => textOf(body.error?.message))).size).toBe(1)
  })
})
