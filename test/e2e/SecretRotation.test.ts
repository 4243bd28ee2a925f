/**
 * Tests the rotation of the signing secret while resellers are logged in. Their tokens stay valid until the previous secret
 * is removed.
 */
import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"

const OLD = "the secret that was there before"
const NEW = "the secret that comes after it .."
const account = { email: "toko@example.com", password: "correct horse" }

let before: TestGateway
let during: TestGateway
let after: TestGateway

beforeAll(async () => {
  before = await TestGateway.start({ settings: { JWT_SECRET: OLD } })
  ;[during, after] = await Promise.all([
    TestGateway.start({ beside: before, settings: { JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: OLD } }),
    TestGateway.start({ beside: before, settings: { JWT_SECRET: NEW } })
  ])
})
afterAll(async () => {
  await Promise.all([during.stop(), after.stop()])
  await before.close()
})

const send = async ({ url }: TestGateway, path: string, body: object): Promise<{ readonly token: string }> => {
  const headers = { "content-type": "application/json" }
  const response = await fetch(`${url}/api/reseller/auth${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body)
  })
  return (await response.json()) as { token: string }
}

const accepts = async ({ url }: TestGateway, token: string): Promise<boolean> => {
  const response = await fetch(`${url}/api/reseller/me`, { headers: { authorization: `Bearer ${token}` } })
  expect([200, 401]).toContain(response.status)
  return response.status === 200
}

it("a token stays valid after a rotation while its signing secret is kept as JWT_SECRET_PREVIOUS", async () => {
  await send(before, "/signup", { ...account, name: "Toko", wa_number: "6281234567890" })
  const operator = { actor: "test", reason: "required by a test" }
  await before.run(Effect.asVoid(reviewReseller(account.email, "approve", operator)))

  const [old, fresh] = await Promise.all([send(before, "/login", account), send(during, "/login", account)])
  const seen = [before, during, after].map(async (gateway) => [
    await accepts(gateway, old.token),
    await accepts(gateway, fresh.token)
  ])
  expect(await Promise.all(seen)).toEqual([
    [true, false],
    [true, true],
    [false, true]
  ])
})
