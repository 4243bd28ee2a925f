/**
 * Tests reseller tokens, and access to the objects of another reseller (docs/reference/reseller.md#tokens).
 */
import { OpenApi } from "@effect/platform"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"
import { TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { Effect, Redacted } from "effect"
import { type JWTPayload, SignJWT, UnsecuredJWT } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ISSUER, SECRET } from "../support/ProgrammeLayers.ts"
import { RawClient } from "../support/RawClient.ts"
import { refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"

const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

const operationsWith = (hasToken: boolean) =>
  Object.entries(OpenApi.fromApi(GatewayApi).paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.some((way) => "resellerToken" in way) === hasToken)
      .map(([method]) => [method.toUpperCase(), path] as const)
  )

const routes = operationsWith(true)

let programme: TestProgramme
let reseller: Actor
/** An order, a customer, a key, a webhook endpoint and a delivery of the reseller. */
let own: Awaited<ReturnType<typeof objectsOf>>
beforeAll(async () => {
  programme = await TestProgramme.start()
  reseller = await programme.reseller({ quotaUsdMicro: 1_000_000_000n })
  own = await objectsOf(reseller)
})
afterAll(() => programme.close())

const objectsOf = async (actor: Actor) => {
  const { token } = actor
  const order = await programme.post("/api/reseller/topup", { token, body: { method: "qris", amount_idr: 10_000 } })
  const { userId } = await programme.customerOf(actor)
  const key = await programme.post(`/api/reseller/customers/${userId}/keys`, { token, body: { name: "key" } })
  const hook = { url: "https://hooks.example/", events: ["topup.credited"] }
  const endpoint = await programme.post("/api/reseller/webhooks/endpoints", { token, body: hook })
  const endpointID = textOf(endpoint.body.endpoint_id)
  const delivery = await programme.post(`/api/reseller/webhooks/endpoints/${endpointID}/test`, { token })
  const deliveryID = textOf(delivery.body.delivery_id)
  return { orderID: textOf(order.body.id), userID: userId, keyID: textOf(key.body.key_id), endpointID, deliveryID }
}

const at = (path: string, ids: Readonly<Record<string, string>> = own): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? UNKNOWN_ID)

/** A POST has an invalid JSON body, because the token must be checked before the body is read. */
const ask = (method: string, path: string, token: string | undefined): Promise<ApiResponse> =>
  programme.ask(method, at(path), { token, ...(method === "POST" ? { body: "{" } : {}) })

const now = () => Math.floor(Date.now() / 1_000)
const claims = (facts: JWTPayload = {}): JWTPayload => ({
  iss: ISSUER,
  aud: "reseller",
  sub: reseller.id,
  iat: now(),
  exp: now() + 60,
  jti: "1",
  ver: 0,
  ...facts
})
const signed = (payload: JWTPayload, { alg = "HS256", kid = "1", secret = SECRET } = {}): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(new TextEncoder().encode(secret))

const tampered = async (): Promise<string> => {
  const [header, , signature] = reseller.token.split(".")
  const payload = Buffer.from(JSON.stringify(claims({ exp: now() + 999_999 }))).toString("base64url")
  return `${header}.${payload}.${signature}`
}
const signedOf = async (moves: ReadonlyArray<"approve" | "reject" | "suspend" | "reactivate">): Promise<string> =>
  (await programme.reseller({ moves })).token

const badTokens: ReadonlyArray<readonly [string, () => Promise<string | undefined> | string | undefined]> = [
  ["no token", () => undefined],
  ["an empty token", () => ""],
  ["a text that is not a token", () => "token"],
  ["two words", () => "a b"],
  ["a token with a changed payload", tampered],
  ["an unsigned token", () => new UnsecuredJWT(claims()).encode()],
  ["a token signed with another secret", () => signed(claims(), { secret: "a secret that an attacker guessed wrong" })],
  ["a token signed with another algorithm", () => signed(claims(), { alg: "HS512" })],
  ["a token with an unknown key id", () => signed(claims(), { kid: "2" })],
  ["an expired token", () => signed(claims({ exp: now() - 1 }))],
  ["a token for another audience", () => signed(claims({ aud: "customers" }))],
  ["a token of another issuer", () => signed(claims({ iss: "elsewhere" }))],
  ["a token with a future token version", () => signed(claims({ ver: 1 }))],
  ["a token of an unknown reseller", () => signed(claims({ sub: UNKNOWN_ID }))],
  ["a token of a pending reseller", () => signedOf([])],
  ["a token of a rejected reseller", () => signedOf(["reject"])],
  ["a token of a suspended reseller", () => signedOf(["approve", "suspend"])],
  ["a token issued before a suspension that has ended", () => signedOf(["approve", "suspend", "reactivate"])]
]

describe("the routes that require a token", () => {
  it("are all reseller routes except signup and login", () => {
    expect(routes.map((route) => route.join(" ")).sort()).toEqual([
      "DELETE /api/reseller/keys/{keyID}",
      "DELETE /api/reseller/webhooks/endpoints/{endpointID}",
      "GET /api/reseller/balance",
      "GET /api/reseller/customers",
      "GET /api/reseller/customers/{userID}/balances",
      "GET /api/reseller/customers/{userID}/keys",
      "GET /api/reseller/keys",
      "GET /api/reseller/keys/{keyID}/balances",
      "GET /api/reseller/me",
      "GET /api/reseller/mints",
      "GET /api/reseller/mints.csv",
      "GET /api/reseller/quota.csv",
      "GET /api/reseller/tiers",
      "GET /api/reseller/topup/{orderID}",
      "GET /api/reseller/topups",
      "GET /api/reseller/topups.csv",
      "GET /api/reseller/usage",
      "GET /api/reseller/usage.csv",
      "GET /api/reseller/usage/daily",
      "GET /api/reseller/webhooks/deliveries",
      "GET /api/reseller/webhooks/endpoints",
      "PATCH /api/reseller/keys/{keyID}",
      "PATCH /api/reseller/webhooks/endpoints/{endpointID}",
      "POST /api/reseller/auth/logout",
      "POST /api/reseller/auth/password",
      "POST /api/reseller/customers",
      "POST /api/reseller/customers/{userID}/keys",
      "POST /api/reseller/mint",
      "POST /api/reseller/topup",
      "POST /api/reseller/topup/{orderID}/check",
      "POST /api/reseller/webhooks/deliveries/{deliveryID}/replay",
      "POST /api/reseller/webhooks/endpoints",
      "POST /api/reseller/webhooks/endpoints/{endpointID}/secret",
      "POST /api/reseller/webhooks/endpoints/{endpointID}/test"
    ])
    const open = operationsWith(false).filter(([, path]) => path.startsWith("/api/reseller/"))
    expect(open.map((route) => route.join(" ")).sort()).toEqual([
      "POST /api/reseller/auth/login",
      "POST /api/reseller/auth/signup"
    ])
  })
})

describe.each(routes)("%s %s", (method, path) => {
  it("returns 401 invalid_credentials without a valid token", async () => {
    const messages = new Set<string>()
    for (const [what, make] of badTokens) {
      const response = await ask(method, path, await make())
      expect(`${what}: ${refusalIn(response)}`).toBe(`${what}: 401 invalid_credentials`)
      messages.add(textOf(response.body.error?.message))
    }
    expect(messages.size).toBe(1)
  })

  it("sends Cache-Control: no-store with a valid token", async () => {
    // A logout ends the tokens of its reseller, so it needs a reseller that no other test uses.
    const tokens = path.endsWith("/logout")
      ? [(await programme.reseller()).token]
      : [reseller.token, await signed(claims())]
    for (const token of tokens) {
      const response = await ask(method, path, token)
      expect(response.status).not.toBe(401)
      expect(response.headers.get("cache-control")).toBe("no-store")
    }
  })
})

describe("a reseller token", () => {
  it("is accepted only in the Authorization header with the Bearer scheme", async () => {
    const { token } = reseller
    const responses = [
      await programme.get("/api/reseller/me", { headers: { "x-api-key": token } }),
      await programme.get("/api/reseller/me", { headers: { authorization: token } }),
      await programme.get("/api/reseller/me", { headers: { authorization: `Basic ${token}` } }),
      await programme.get("/api/reseller/me", { headers: { cookie: `token=${token}` } }),
      await programme.get(`/api/reseller/me?token=${token}`)
    ]
    expect(responses.map(refusalIn)).toEqual(Array(5).fill("401 invalid_credentials"))
    expect((await programme.get("/api/reseller/me", { headers: { authorization: `bearer ${token}` } })).status).toBe(
      200
    )
  })

  it("is refused when the request has a different second token", async () => {
    const client = await RawClient.connect(programme.url)
    client.head("GET", "/api/reseller/me", [
      ["authorization", `Bearer ${reseller.token}`],
      ["authorization", "Bearer other"]
    ])
    expect((await client.whole()).status).toBe(401)
    client.leave()
  })

  it("opens no inference route", async () => {
    const { status, body } = await programme.get("/v1/models", { token: reseller.token })
    expect(`${status} ${textOf(body.error?.code)}`).toBe("401 invalid_api_key")
  })

  it("is invalid from the first request after a suspension", async () => {
    const actor = await programme.reseller()
    const me = async (token: string) => (await programme.get("/api/reseller/me", { token })).status
    expect(await me(actor.token)).toBe(200)
    await programme.review(actor, "suspend")
    expect(await me(actor.token)).toBe(401)
    await programme.review(actor, "reactivate")
    expect(await me(actor.token)).toBe(401)
    const body = { email: actor.email, password: actor.password }
    const { token } = (await programme.post("/api/reseller/auth/login", { body })).body
    expect(await me(textOf(token))).toBe(200)
  })

  it("is accepted when the signer of the server has issued it", async () => {
    const claims = { resellerId: ResellerId.make(reseller.id), tokenVersion: 0 }
    const token = await programme.run(Effect.flatMap(TokenSigner, (signer) => signer.issue(claims)))
    expect((await programme.get("/api/reseller/me", { token: Redacted.value(token) })).status).toBe(200)
  })
})

it("an API key opens no reseller route", async () => {
  const key = await programme.post(`/api/reseller/customers/${own.userID}/keys`, {
    token: reseller.token,
    body: { name: "key" }
  })
  expect(refusalIn(await programme.get("/api/reseller/me", { token: textOf(key.body.secret) }))).toBe(
    "401 invalid_credentials"
  )
})

describe("an object of another reseller", () => {
  it("causes the same response as a missing object", async () => {
    const other = await programme.reseller()
    const theirs = await objectsOf(other)
    const all = routes.filter(([, path]) => path.includes("{"))
    // The routes that delete come last, because the owner too gets 404 for a deleted object.
    const naming = [...all.filter(([method]) => method !== "DELETE"), ...all.filter(([method]) => method === "DELETE")]
    expect(naming).toHaveLength(13)
    for (const [method, path] of naming) {
      const bodies: Readonly<Record<string, object>> = {
        POST: { name: "key" },
        PATCH: { limits: { requests_per_minute: 5 } }
      }
      const asking = { token: reseller.token, ...(method in bodies ? { body: bodies[method] } : {}) }
      const foreign = await programme.ask(method, at(path, theirs), asking)
      const missing = await programme.ask(method, at(path, {}), asking)
      const what = ["topup", "endpoint", "deliver"].find((word) => path.includes(word))
      const code = what === undefined ? "not_found" : `${what === "deliver" ? "delivery" : what}_not_found`
      expect([refusalIn(foreign), refusalIn(missing)]).toEqual([`404 ${code}`, `404 ${code}`])
      expect(without(foreign)).toEqual(without(missing))
      expect((await programme.ask(method, at(path, theirs), { ...asking, token: other.token })).status).toBeLessThan(
        300
      )
    }
  })

  it("does not appear in the lists of top-ups, customers and keys", async () => {
    const stranger = await programme.reseller()
    for (const [path, member] of [
      ["topups", "topups"],
      ["customers", "customers"],
      ["keys", "data"]
    ] as const) {
      expect(listOf((await programme.get(`/api/reseller/${path}`, stranger)).body[member])).toEqual([])
    }
  })
})

describe("a malformed order id", () => {
  it.each(["x", "%00", "%27", "..%2f", "019a9f0e8d3b7c6e8f1a2b3c4d5e6f70", "x".repeat(2_000)])(
    "causes 404 topup_not_found: %s",
    async (id) => {
      const { token } = reseller
      const responses = [
        await programme.get(`/api/reseller/topup/${id}`, { token }),
        await programme.post(`/api/reseller/topup/${id}/check`, { token })
      ]
      expect(responses.map(refusalIn)).toEqual(["404 topup_not_found", "404 topup_not_found"])
    }
  )
})

/** Returns a refusal without its request id and its date. */
const without = ({ status, body, headers }: ApiResponse): Json => {
  const { request_id: _, ...error } = body.error ?? {}
  const told = [...headers].filter(([name]) => !/request-id|^date$/.test(name))
  return { status: `${status}` as never, error, headers: Object.fromEntries(told) as never }
}
