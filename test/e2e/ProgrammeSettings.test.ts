/**
 * Tests the settings of the reseller features.
 */

import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"

const account = { email: "toko@example.com", password: "correct horse" }

let gateway: TestGateway
let usual: TestGateway
let token: string

const send = (to: TestGateway, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${to.url}/api/reseller${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body)
  })

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code

beforeAll(async () => {
  usual = await TestGateway.start()
  gateway = await TestGateway.start({
    beside: usual,
    settings: {
      TOPUP_QRIS_MIN: "20000",
      TOPUP_CRYPTO_MAX: "6000000",
      CUSTOMER_LINK_POLICY: "open",
      TRUSTED_PROXIES: "127.0.0.0/8, ::1"
    }
  })
  token = ""
  await send(gateway, "/auth/signup", { ...account, name: "Toko", wa_number: "6281234567890" })
  const operator = { actor: "test", reason: "required by a test" }
  await gateway.run(Effect.asVoid(reviewReseller(account.email, "approve", operator)))
  token = ((await (await send(gateway, "/auth/login", account)).json()) as { token: string }).token
})
afterAll(async () => {
  await gateway.stop()
  await usual.close()
})

it("the operator sets the range of top-up amounts", async () => {
  const refused = [
    await send(gateway, "/topup", { method: "qris", amount_idr: 19_999 }),
    await send(gateway, "/topup", { method: "crypto", amount_usd_micro: 6_000_001 }),
    // This amount is in range. The request fails because no payment provider is configured.
    await send(gateway, "/topup", { method: "qris", amount_idr: 20_000 }),
    await send(usual, "/topup", { method: "qris", amount_idr: 19_999 })
  ]
  expect(await Promise.all(refused.map(codeOf))).toEqual([
    "amount_out_of_range",
    "amount_out_of_range",
    "provider_unavailable",
    "provider_unavailable"
  ])
})

it("the operator sets whether a reseller can link an existing user", async () => {
  const { email, userId } = gateway.customer
  const keyFor = async (to: TestGateway) => {
    expect(await (await send(to, "/customers", { email })).json()).toMatchObject({ user_id: userId, created: false })
    return (await send(to, `/customers/${userId}/keys`, { name: "key" })).status
  }
  expect(await keyFor(usual)).toBe(404)
  expect(await keyFor(gateway)).toBe(201)
})

it("X-Forwarded-For is read only behind a trusted proxy", async () => {
  const attempts = async (to: TestGateway, email: string) => {
    const statuses: Array<number> = []
    for (let nth = 1; nth <= 6; nth++) {
      const from = { "x-forwarded-for": `203.0.113.${nth}` }
      statuses.push((await send(to, "/auth/login", { email, password: "wrong" }, from)).status)
    }
    return statuses
  }
  expect(await attempts(gateway, "behind@example.com")).toEqual([401, 401, 401, 401, 401, 401])
  expect(await attempts(usual, "direct@example.com")).toEqual([401, 401, 401, 401, 401, 429])
})
