/**
 * Tests customers, their keys and their balances over HTTP (docs/reference/reseller.md#customers-and-their-keys,
 * docs/reference/balances-and-usage.md#balances).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"
import { chatFrames, usage } from "../support/upstream/ChatWire.ts"
import { stream } from "../support/upstream/Script.ts"

const CUSTOMERS = "/api/reseller/customers"
const KEYS = "/api/reseller/keys"
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

let programme: TestProgramme
let reseller: Actor
beforeAll(async () => {
  programme = await TestProgramme.start()
  reseller = await programme.reseller()
})
afterAll(() => programme.close())

const resolve = (email: unknown, { token }: Actor = reseller) => programme.post(CUSTOMERS, { token, body: { email } })
const createKey = (
  userId: string,
  { token }: Actor = reseller,
  body: unknown = { name: "laptop" }
): Promise<ApiResponse> => programme.post(`${CUSTOMERS}/${userId}/keys`, { token, body })
const revoke = (keyId: Json | undefined, { token }: Actor = reseller) =>
  programme.delete(`${KEYS}/${textOf(keyId)}`, { token })

/** Returns `200 true` for a complete stream, otherwise the status and the error code. */
const chat = async (secret: Json | undefined): Promise<string> => {
  const { status, body, text } = await programme.post("/v1/chat/completions", {
    token: textOf(secret),
    body: { model: "m", messages: [{ role: "user", content: "hi" }], stream: true }
  })
  return status === 200 ? `200 ${text.trimEnd().endsWith("data: [DONE]")}` : `${status} ${textOf(body.error?.code)}`
}

describe("POST /customers", () => {
  it("creates a user and links it to the reseller", async () => {
    const { status, body } = await resolve(" New.Customer@Example.com")
    expect({ status, body }).toEqual({
      status: 200,
      body: { user_id: expect.stringMatching(UUID_V7), email: "new.customer@example.com", created: true }
    })
    expect((await resolve("new.customer@example.com")).body).toEqual({ ...body, created: false })
    const { customers } = (await programme.get(CUSTOMERS, reseller)).body
    expect(customers).toContainEqual({ user_id: textOf(body.user_id), email: "new.customer@example.com" })
  })

  it("creates one user from parallel requests of two resellers", async () => {
    const others = await Promise.all([programme.reseller(), programme.reseller()])
    const responses = await Promise.all(others.map((other) => resolve("contested@example.com", other)))
    expect(new Set(responses.map(({ body }) => textOf(body.user_id))).size).toBe(1)
    expect(responses.filter(({ body }) => body.created?.valueOf() === true)).toHaveLength(1)
    for (const [i, other] of others.entries()) {
      const { customers } = (await programme.get(CUSTOMERS, other)).body
      const created = responses[i]?.body.created?.valueOf() === true
      expect(customers).toEqual(
        created ? [{ user_id: textOf(responses[i]?.body.user_id), email: "contested@example.com" }] : []
      )
    }
  })

  it("does not link a customer of another reseller", async () => {
    const other = await programme.reseller()
    const theirs = await programme.customerOf(other, 1_000_000n)
    expect((await resolve(theirs.email)).body).toEqual({ user_id: theirs.userId, email: theirs.email, created: false })
    expect(refusalIn(await createKey(theirs.userId))).toBe("404 not_found")
    expect(refusalIn(await programme.get(`${CUSTOMERS}/${theirs.userId}/balances`, reseller))).toBe("404 not_found")
  })

  it("links an existing user when the link policy is open", async () => {
    const open = await TestProgramme.start({ linkPolicy: "open" })
    const [one, other] = [await open.reseller(), await open.reseller()]
    const theirs = await open.customerOf(one)
    const { body } = await open.post(CUSTOMERS, { token: other.token, body: { email: theirs.email } })
    expect(body).toEqual({ user_id: theirs.userId, email: theirs.email, created: false })
    expect((await open.get(CUSTOMERS, other)).body).toEqual({
      customers: [{ user_id: theirs.userId, email: theirs.email }]
    })
    await open.close()
  })

  it.each([["customer"], [""], [null], [7], [undefined], ["a@b"], ["a b@example.com"]])(
    "returns 422 validation_error for the email %j",
    async (email) => {
      const response = await resolve(email)
      expect(refusalIn(response)).toBe("422 validation_error")
      expect(pathsIn(response)).toEqual(["email"])
    }
  )
})

describe("GET /customers", () => {
  it("lists the reseller's own customers, sorted by email", async () => {
    const other = await programme.reseller()
    const made = []
    for (const email of ["b@list.example", "c@list.example", "a@list.example"])
      made.push((await resolve(email, other)).body)
    const [b, c, a] = made.map(({ user_id, email }) => ({ user_id, email }))
    const response = await programme.get(CUSTOMERS, other)
    expect({ status: response.status, body: response.body }).toEqual({ status: 200, body: { customers: [a, b, c] } })
  })
})

describe("a customer's API key", () => {
  it("is returned with its secret when it is created", async () => {
    const { userId } = await programme.customerOf(reseller)
    const { status, headers, body } = await createKey(userId, reseller, { name: " my laptop ", scopes: ["all"] })
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        key_id: expect.stringMatching(UUID_V7),
        name: "my laptop",
        secret: expect.stringMatching(/^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/)
      }
    })
    expect(headers.get("cache-control")).toBe("no-store")
  })

  it.each([
    [{}],
    [{ name: "" }],
    [{ name: "x".repeat(201) }],
    [{ name: "two\nlines" }],
    [{ name: "half \ud83d" }],
    [{ name: 7 }]
  ])("causes 422 validation_error for the body %j", async (body) => {
    const { userId } = await programme.customerOf(reseller)
    const response = await createKey(userId, reseller, body)
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual(["name"])
  })

  it("causes 404 not_found for a customer of another reseller", async () => {
    const other = await programme.reseller()
    const theirs = await programme.customerOf(other)
    const responses = [
      await createKey(theirs.userId),
      await createKey(UNKNOWN_ID),
      await createKey("x"),
      await createKey("%00")
    ]
    expect(responses.map(refusalIn)).toEqual(Array(4).fill("404 not_found"))
    expect(new Set(responses.map(({ body }) => textOf(body.error?.message))).size).toBe(1)
  })

  it("is refused from the first request after its revocation", async () => {
    const { userId } = await programme.customerOf(reseller, 1_000_000n)
    const { key_id, secret } = (await createKey(userId)).body
    programme.upstream.next(stream(chatFrames({ content: ["ok"], usage: usage(3, 1) })))
    expect(await chat(secret)).toBe("200 true")
    expect((await revoke(key_id)).status).toBe(200)
    // Until the revocation is known, the gateway can send the request to the provider. It does not deliver the
    // response.
    programme.upstream.always(stream(chatFrames({ content: ["ok"], usage: usage(3, 1) })))
    expect(await chat(secret)).toBe("401 invalid_api_key")
  })

  it("has the same response to its first and second revocation", async () => {
    const { userId } = await programme.customerOf(reseller)
    const { key_id } = (await createKey(userId)).body
    const { status, headers, body } = await revoke(key_id)
    expect({ status, body }).toEqual({
      status: 200,
      body: { key_id: textOf(key_id), revoked: true, revoked_at: expect.stringMatching(TIME) }
    })
    expect(headers.get("cache-control")).toBe("no-store")
    for (const id of [textOf(key_id), textOf(key_id).toUpperCase()]) {
      expect((await programme.delete(`${KEYS}/${id}`, reseller)).body).toEqual(body)
    }
  })

  it("cannot be revoked by another reseller", async () => {
    const other = await programme.reseller()
    const theirs = await programme.customerOf(other, 1_000_000n)
    const { key_id, secret } = (await createKey(theirs.userId, other)).body
    const responses = [await revoke(key_id), await revoke(UNKNOWN_ID as never), await revoke("x" as never)]
    expect(responses.map(refusalIn)).toEqual(Array(3).fill("404 not_found"))
    expect(new Set(responses.map(({ body }) => textOf(body.error?.message))).size).toBe(1)
    programme.upstream.next(stream(chatFrames({ content: ["ok"], usage: usage(3, 1) })))
    expect(await chat(secret)).toBe("200 true")
  })
})

describe("customer balances", () => {
  it("can be read by customer id or key id", async () => {
    const rich = await programme.reseller({ quotaUsdMicro: 10_000_000n })
    const { userId, email } = await programme.customerOf(rich, 12_345_678n)
    const { tiers } = (await programme.get("/api/reseller/tiers", rich)).body
    const [, tier] = tiers as unknown as ReadonlyArray<Json>
    const body = { operation_id: "1", customer_email: email, plan_tier_id: textOf(tier?.plan_tier_id) }
    await programme.post("/api/reseller/mint", { token: rich.token, body })
    const { key_id, secret } = (await createKey(userId, rich)).body
    programme.upstream.next(stream(chatFrames({ content: ["a", "b"], usage: usage(100, 50) })))
    expect(await chat(secret)).toBe("200 true")
    await programme.settled()

    const ofCustomer = await programme.get(`${CUSTOMERS}/${userId}/balances`, rich)
    expect({ status: ofCustomer.status, body: ofCustomer.body }).toEqual({
      status: 200,
      body: {
        customer_user_id: userId,
        payg: { currency: "USD", balance: "12.345478" },
        token_plans: [
          { model: "a", purchased_tokens: 1_500_000, used_tokens: 0, remaining_tokens: 1_500_000, status: "active" }
        ],
        as_of: expect.stringMatching(TIME)
      }
    })
    expect(ofCustomer.headers.get("cache-control")).toBe("no-store")

    const { as_of: _, ...rest } = ofCustomer.body
    const ofKey = await programme.get(`${KEYS}/${textOf(key_id).toUpperCase()}/balances`, rich)
    expect(ofKey.body).toEqual({ key_id: textOf(key_id), ...rest, as_of: expect.stringMatching(TIME) })
    await revoke(key_id, rich)
    expect((await programme.get(`${KEYS}/${textOf(key_id)}/balances`, rich)).body).toMatchObject(rest)
  })

  it("are zero for a new customer", async () => {
    const { userId } = await programme.customerOf(reseller)
    const { body } = await programme.get(`${CUSTOMERS}/${userId}/balances`, reseller)
    expect(body).toMatchObject({ payg: { currency: "USD", balance: "0.000000" }, token_plans: [] })
  })

  it("return 404 not_found for another reseller's customer or key", async () => {
    const other = await programme.reseller()
    const theirs = await programme.customerOf(other)
    const { key_id } = (await createKey(theirs.userId, other)).body
    const paths = [
      [`${CUSTOMERS}/${theirs.userId}/balances`, `${CUSTOMERS}/${UNKNOWN_ID}/balances`],
      [`${KEYS}/${textOf(key_id)}/balances`, `${KEYS}/${UNKNOWN_ID}/balances`]
    ]
    for (const alike of paths) {
      const responses = await Promise.all(alike.map((path) => programme.get(path, reseller)))
      expect(responses.map(refusalIn)).toEqual(["404 not_found", "404 not_found"])
      expect(new Set(responses.map(({ body }) => textOf(body.error?.message))).size).toBe(1)
    }
  })

  it.each(["x", "7", "%00", "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f7", "019a9f0e8d3b7c6e8f1a2b3c4d5e6f70"])(
    "return 422 validation_error for the id %s",
    async (id) => {
      const [customer, key] = [`${CUSTOMERS}/${id}/balances`, `${KEYS}/${id}/balances`]
      const responses = [await programme.get(customer, reseller), await programme.get(key, reseller)]
      expect(responses.map(refusalIn)).toEqual(["422 validation_error", "422 validation_error"])
      expect(responses.map(pathsIn)).toEqual([["userID"], ["keyID"]])
    }
  )
})
