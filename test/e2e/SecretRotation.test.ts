/**
 * Tests the rotation of the signing secret of tokens and of the key pepper.
 */
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyRewrites } from "@tollgate/application/customer/KeyPeppers"
import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"

const OLD = "the secret that was there before"
const NEW = "the secret that comes after it .."
const OLD_PEPPER = "the pepper that was there before."
const NEW_PEPPER = "the pepper that comes after it ..."
const operator = { actor: "test", reason: "required by a test" }
const account = { email: "toko@example.com", password: "correct horse" }

let before: TestGateway
let during: TestGateway
let after: TestGateway

beforeAll(async () => {
  const kept = { JWT_SECRET_PREVIOUS: OLD, KEY_PEPPER_PREVIOUS: OLD_PEPPER }
  const fresh = { JWT_SECRET: NEW, KEY_PEPPER: NEW_PEPPER }
  before = await TestGateway.start({ settings: { JWT_SECRET: OLD, KEY_PEPPER: OLD_PEPPER } })
  ;[during, after] = await Promise.all([
    TestGateway.start({ beside: before, settings: { ...fresh, ...kept } }),
    TestGateway.start({ beside: before, settings: fresh })
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

it("a token stays valid while its signing secret is JWT_SECRET_PREVIOUS", async () => {
  await send(before, "/signup", { ...account, name: "Toko", wa_number: "6281234567890" })
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

const acceptsKey = async ({ url }: TestGateway, key: string): Promise<boolean> => {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  expect([200, 401]).toContain(response.status)
  return response.status === 200
}

it("an API key that is used during the pepper rotation stays valid afterwards", async () => {
  const aKey = () =>
    before.run(
      Effect.flatMap(ApiKeys, (keys) => keys.create(Email.make(before.customer.email), "key", operator)).pipe(
        Effect.map(({ secret }) => Redacted.value(secret))
      )
    )
  const [used, unused] = [await aKey(), await aKey()]
  expect(await acceptsKey(before, used)).toBe(true)
  expect(await acceptsKey(during, used)).toBe(true)
  expect(await during.run(Effect.flatMap(KeyRewrites, ({ rewrite }) => rewrite))).toBeGreaterThan(0)
  expect([await acceptsKey(after, used), await acceptsKey(after, unused)]).toEqual([true, false])
  expect([await acceptsKey(during, used), await acceptsKey(during, unused)]).toEqual([true, true])
})
