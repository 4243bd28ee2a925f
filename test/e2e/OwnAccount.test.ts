/**
 * Tests the balances and the usage that a customer reads with its API key
 * (docs/reference/balances-and-usage.md#own-balances-and-usage).
 */
import { parse } from "csv-parse/sync"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { listOf, textOf } from "../support/SimulatedPayments.ts"
import { until } from "../support/TestGateway.ts"
import { type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"
import { chatFrames, completion, usage } from "../support/upstream/ChatWire.ts"
import { json, stream } from "../support/upstream/Script.ts"

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ROUTES = ["/v1/balance", "/v1/usage", "/v1/usage/daily", "/v1/usage.csv"]

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start()
})
afterAll(() => programme.close())

/** Creates a customer with a key and this number of settled requests. */
const aSpender = async (requests: number) => {
  const reseller = await programme.reseller()
  const { userId } = await programme.customerOf(reseller, 1_000_000n)
  const path = `/api/reseller/customers/${userId}/keys`
  const key = (await programme.post(path, { token: reseller.token, body: { name: "key" } })).body
  const token = textOf(key.secret)
  for (let i = 1; i <= requests; i++) {
    programme.upstream.next(json(completion({ usage: usage(i, 1) })))
    const body = { model: "m", messages: [{ role: "user", content: "hi" }] }
    expect((await programme.post("/v1/chat/completions", { token, body })).status).toBe(200)
  }
  await programme.settled()
  return { reseller, userId, keyId: textOf(key.key_id), token }
}

/** Returns the status, the code and the parameter of an error in the format of the inference routes. */
const errorIn = ({ status, body, headers }: ApiResponse) => {
  expect(body).toMatchObject({ type: "error", error: { type: "invalid_request_error", message: expect.any(String) } })
  expect(body.request_id).toBe(headers.get("x-request-id"))
  return [status, body.error?.code, body.error?.param]
}

describe("a customer", () => {
  it("reads the same balances as its reseller", async () => {
    const { reseller, keyId, userId, token } = await aSpender(1)
    const own = await programme.get("/v1/balance", { token })
    const shown = await programme.get(`/api/reseller/keys/${keyId}/balances`, reseller)
    const asOf = expect.stringMatching(TIME)
    expect(own.status).toBe(200)
    expect(own.body).toEqual({ ...shown.body, as_of: asOf })
    expect(own.body).toMatchObject({ key_id: keyId, customer_user_id: userId, payg: { balance: "0.999997" } })
  })

  it("reads a balance from which the cost of the stream that has just ended is deducted", async () => {
    const { token } = await aSpender(0)
    for (let i = 1; i <= 10; i++) {
      programme.upstream.next(stream(chatFrames({ content: ["x"], usage: usage(1, 1) })))
      const body = { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] }
      expect((await programme.post("/v1/chat/completions", { token, body })).text).toContain("[DONE]")
      const { body: balance } = await programme.get("/v1/balance", { token })
      expect(balance).toMatchObject({ payg: { balance: `0.${1_000_000 - 3 * i}` } })
    }
  })

  it("reads its own usage in pages, as daily sums and as CSV", async () => {
    const { token } = await aSpender(3)
    await aSpender(1)
    const first = (await programme.get("/v1/usage?limit=2", { token })).body
    const second = (await programme.get(`/v1/usage?limit=2&cursor=${textOf(first.next_cursor)}`, { token })).body
    const item = (total_tokens: number, display_cost_usd_micro: string) => ({
      model: "m",
      total_tokens,
      display_cost_usd_micro,
      timestamp: expect.stringMatching(TIME)
    })
    expect(first).toEqual({
      object: "list",
      data: [item(4, "5"), item(3, "4")],
      next_cursor: expect.any(String)
    })
    expect(second).toEqual({ object: "list", data: [item(2, "3")], next_cursor: null })
    const daily = (await programme.get("/v1/usage/daily", { token })).body
    expect(listOf(daily.days)).toMatchObject([{ requests: 3, total_tokens: 9, display_cost_usd_micro: "12" }])
    const csv = await programme.get("/v1/usage.csv?model=m", { token })
    const rows: ReadonlyArray<Record<string, string>> = parse(csv.text, { columns: true })
    expect(rows.map(({ total_tokens }) => total_tokens)).toEqual(["4", "3", "2"])
    expect(listOf((await programme.get("/v1/usage?model=other", { token })).body.data)).toEqual([])
  })

  it("reads its balances when its balance is zero", async () => {
    const reseller = await programme.reseller()
    const { userId } = await programme.customerOf(reseller)
    const path = `/api/reseller/customers/${userId}/keys`
    const key = (await programme.post(path, { token: reseller.token, body: { name: "key" } })).body
    const { body } = await programme.get("/v1/balance", { token: textOf(key.secret) })
    expect(body).toMatchObject({ payg: { currency: "USD", balance: "0.000000" }, token_plans: [] })
    expect((await programme.get("/v1/usage", { headers: { "x-api-key": textOf(key.secret) } })).status).toBe(200)
  })

  it.each(ROUTES)("is refused at %s without a valid key", async (path) => {
    const { reseller, keyId, token } = await aSpender(0)
    expect(errorIn(await programme.get(path))).toEqual([401, "invalid_api_key", null])
    expect(errorIn(await programme.get(path, reseller))).toEqual([401, "invalid_api_key", null])
    expect((await programme.get(path, { token })).status).toBe(200)
    await programme.delete(`/api/reseller/keys/${keyId}`, reseller)
    await until(async () => (await programme.get(path, { token })).status === 401)
  })

  it.each([
    ["/v1/usage?limit=101", "limit"],
    ["/v1/usage?cursor=x", "cursor"],
    ["/v1/usage?from=2026-02-30", "from"],
    ["/v1/usage?from=2026-01-01&from=2026-01-01", "from"],
    ["/v1/usage/daily?from=2026-01-01&to=2026-12-31", "from"],
    ["/v1/usage.csv?to=x", "to"]
  ])("is refused with 400 invalid_request at %s", async (path, parameter) => {
    const { token } = await aSpender(0)
    expect(errorIn(await programme.get(path, { token }))).toEqual([400, "invalid_request", parameter])
  })
})
