/**
 * Tests settled usage over HTTP (docs/reference/balances-and-usage.md#usage).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, TestProgramme } from "../support/TestProgramme.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const USAGE = "/api/reseller/usage"
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start()
})
afterAll(() => programme.close())

const spender = async (reseller: Actor) => {
  const { userId } = await programme.customerOf(reseller, 10_000_000n)
  const { token } = reseller
  const created = await programme.post(`/api/reseller/customers/${userId}/keys`, { token, body: { name: "key" } })
  return { userId, secret: textOf(created.body.secret) }
}

/** Sends a request that uses this many tokens, and waits for its settlement. */
const spend = async (secret: string, input: number, output: number): Promise<void> => {
  programme.upstream.next(json(completion({ usage: usage(input, output) })))
  const body = { model: "m", messages: [{ role: "user", content: "hi" }] }
  const { status, text } = await programme.post("/v1/chat/completions", { token: secret, body })
  if (status !== 200) throw new Error(text)
  await programme.settled()
}

const page = async ({ token }: Actor, query = "") => (await programme.get(`${USAGE}${query}`, { token })).body
const tokensIn = (body: Json) => listOf(body.data).map(({ total_tokens }) => Number(total_tokens))

describe("settled usage", () => {
  it("is an empty list before the first request", async () => {
    expect((await programme.get(USAGE, await programme.reseller())).text).toBe('{"data":[],"next_cursor":null}')
  })

  it("lists requests of the reseller's own customers, newest first", async () => {
    const [mine, other] = [await programme.reseller(), await programme.reseller()]
    const [one, two, stranger] = [await spender(mine), await spender(mine), await spender(other)]
    await spend(one.secret, 10, 1)
    await spend(stranger.secret, 500, 500)
    await spend(two.secret, 20, 2)
    const { status, headers, body } = await programme.get(USAGE, mine)
    const item = (user_id: string, total_tokens: number, display_cost_usd_micro: string) => ({
      user_id,
      model: "m",
      total_tokens,
      display_cost_usd_micro,
      timestamp: expect.stringMatching(TIME)
    })
    expect({ status, body }).toEqual({
      status: 200,
      body: { data: [item(two.userId, 22, "24"), item(one.userId, 11, "12")], next_cursor: null }
    })
    expect(headers.get("cache-control")).toBe("no-store")
  })

  it("has each earlier item once while more requests are settled", async () => {
    const reseller = await programme.reseller()
    const { secret } = await spender(reseller)
    for (let i = 1; i <= 5; i++) await spend(secret, i, 1)
    const first = await page(reseller, "?limit=2")
    expect(tokensIn(first)).toEqual([6, 5])
    await spend(secret, 6, 1)
    const second = await page(reseller, `?limit=2&cursor=${textOf(first.next_cursor)}`)
    expect(tokensIn(second)).toEqual([4, 3])
    const third = await page(reseller, `?limit=2&cursor=${textOf(second.next_cursor)}`)
    expect({ tokens: tokensIn(third), next: third.next_cursor }).toEqual({ tokens: [2], next: null })
    expect(await page(reseller, `?limit=2&cursor=${textOf(first.next_cursor)}`)).toEqual(second)
    expect(tokensIn(await page(reseller))).toEqual([7, 6, 5, 4, 3, 2])
  })

  it("lists only the reseller's own older items after the cursor of another reseller", async () => {
    const [mine, other] = [await programme.reseller(), await programme.reseller()]
    const [{ secret }, stranger] = [await spender(mine), await spender(other)]
    await spend(secret, 1, 1)
    await spend(stranger.secret, 10, 1)
    await spend(secret, 2, 1)
    await spend(stranger.secret, 20, 1)
    const { next_cursor } = await page(mine, "?limit=1")
    const body = await page(other, `?cursor=${textOf(next_cursor)}`)
    expect({ tokens: tokensIn(body), next: body.next_cursor }).toEqual({ tokens: [11], next: null })
  })

  it.each([
    "limit=0",
    "limit=101",
    "limit=x",
    "limit=",
    "cursor=",
    "cursor=abc",
    "cursor=dTEgMTc2MzYzMTAwMDAwMDAwMCAwMTlhOWYwZQ.Zm9y",
    "cursor=a&cursor=b"
  ])("returns 422 validation_error for %s", async (query) => {
    const response = await programme.get(`${USAGE}?${query}`, await programme.reseller())
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual([query.split("=")[0]])
  })

  it.each([1, 100])("accepts a limit of %i", async (limit) => {
    expect(await page(await programme.reseller(), `?limit=${limit}`)).toEqual({ data: [], next_cursor: null })
  })
})
