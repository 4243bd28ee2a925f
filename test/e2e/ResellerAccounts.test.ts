/**
 * Tests signup, login and the account of a reseller over HTTP (docs/reference/reseller.md#signup-and-login).
 */
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { BlacklistPattern } from "@tollgate/domain/reseller/Blacklist"
import { Effect } from "effect"
import { decodeJwt } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { textOf } from "../support/SimulatedPayments.ts"
import { operator } from "../support/Stores.ts"
import { type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"

const SIGNUP = "/api/reseller/auth/signup"
const LOGIN = "/api/reseller/auth/login"
const PASSWORD = "correct horse battery"

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start({ trustedProxies: "127.0.0.1" })
})
afterAll(() => programme.close())

let address = 0
/** Returns a header with the IP address of a client that has made no login attempts. */
const anotherAddress = () => ({ "x-forwarded-for": `198.51.100.${++address}` })
let from = anotherAddress()
beforeEach(() => {
  from = anotherAddress()
})

let count = 0
const signup = (members: object = {}) => ({
  email: `owner-${++count}@example.com`,
  password: PASSWORD,
  name: "Toko Token",
  wa_number: "628123456789",
  ...members
})
const signUp = (members: object = {}): Promise<ApiResponse> =>
  programme.post(SIGNUP, { body: signup(members), headers: from })
const logIn = (email: string, password: string): Promise<ApiResponse> =>
  programme.post(LOGIN, { body: { email, password }, headers: from })

describe("signup", () => {
  it("returns the id, email, name and status of a pending reseller", async () => {
    const { status, headers, body } = await signUp({ email: "Owner@Example.com ", anything: "else" })
    expect(status).toBe(201)
    expect(body).toEqual({
      reseller: {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/),
        email: "owner@example.com",
        name: "Toko Token",
        status: "pending"
      }
    })
    expect(headers.get("cache-control")).toBe("no-store")
    expect(headers.get("x-request-id")).toBe(headers.get("request-id"))
  })

  it("returns 409 email_exists for a known email in another letter case", async () => {
    await signUp({ email: "twice@example.com" })
    expect(refusalIn(await signUp({ email: "TWICE@example.com" }))).toBe("409 email_exists")
  })

  it("returns 429 rate_limited after 10 signups from one IP address", async () => {
    const statuses = await Promise.all(Array.from({ length: 11 }, async () => (await signUp()).status))
    expect(statuses.sort()).toEqual([...Array(10).fill(201), 429])
    const refused = await signUp()
    expect(refusalIn(refused)).toBe("429 rate_limited")
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_000)
    from = anotherAddress()
    expect((await signUp()).status).toBe(201)
  })

  it("creates one reseller from three parallel requests with the same email", async () => {
    const responses = await Promise.all([1, 2, 3].map(() => signUp({ email: "race@example.com" })))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })

  it("returns 403 email_blacklisted for a listed email or domain", async () => {
    await programme.run(
      Effect.gen(function* () {
        const blacklist = yield* Blacklist
        yield* blacklist.add(BlacklistPattern.make("bad@example.com"), operator)
        yield* blacklist.add(BlacklistPattern.make("@bad.example"), operator)
      })
    )
    for (const email of ["bad@example.com", "BAD@example.com", "anybody@bad.example"]) {
      expect(refusalIn(await signUp({ email }))).toBe("403 email_blacklisted")
    }
    expect((await signUp({ email: "anybody@sub.bad.example" })).status).toBe(201)
  })

  it.each([
    ["no members at all", {}, ["email", "name", "password", "wa_number"]],
    ["no email", signup({ email: undefined }), ["email"]],
    ["an invalid email", signup({ email: "owner" }), ["email"]],
    ["an email with a NUL character", signup({ email: "a\u0000b@example.com" }), ["email"]],
    ["a password of 7 characters", signup({ password: "1234567" }), ["password"]],
    ["a password of 129 characters", signup({ password: "x".repeat(129) }), ["password"]],
    ["a password that is a number", signup({ password: 12345678 }), ["password"]],
    ["a wa_number with a plus sign", signup({ wa_number: "+628123456789" }), ["wa_number"]],
    ["a wa_number that is a JSON number", signup({ wa_number: 628123456789 }), ["wa_number"]],
    ["an empty name", signup({ name: " " }), ["name"]],
    ["a name with half a surrogate pair", signup({ name: "Toko \ude00" }), ["name"]],
    [
      "null for every member",
      { email: null, password: null, name: null, wa_number: null },
      ["email", "name", "password", "wa_number"]
    ]
  ])("returns 422 with the invalid members (%s)", async (_, body, paths) => {
    const response = await programme.post(SIGNUP, { body })
    expect(refusalIn(response)).toBe("422 validation_error")
    expect([...pathsIn(response)].sort()).toEqual(paths)
    expect(response.text).not.toContain("1234567")
  })

  it("accepts passwords from 8 to 128 characters", async () => {
    for (const password of ["12345678", "🔑".repeat(8), "x".repeat(128)]) {
      expect((await signUp({ password })).status).toBe(201)
    }
  })

  it.each<readonly [string, unknown, Record<string, string>]>([
    ["empty", "", {}],
    ["not JSON", "{", {}],
    ["nested 30,000 levels deep", `{"email":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, {}],
    ["a JSON array", "[]", {}],
    ["a JSON string", '"x"', {}],
    ["not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), {}],
    ["a form", "email=a%40example.com", { "content-type": "application/x-www-form-urlencoded" }],
    ["compressed", "{}", { "content-encoding": "gzip" }]
  ])("returns 422 validation_error when the body is %s", async (_, body, headers) => {
    expect(refusalIn(await programme.post(SIGNUP, { body, headers }))).toBe("422 validation_error")
  })

  it("returns 413 request_too_large above 64 KiB", async () => {
    const body = JSON.stringify(signup({ padding: "x".repeat(64 * 1024) }))
    expect(refusalIn(await programme.post(SIGNUP, { body }))).toBe("413 request_too_large")
    const stream = new Blob([body]).stream()
    const response = await fetch(programme.url + SIGNUP, {
      method: "POST",
      body: stream,
      duplex: "half"
    } as RequestInit)
    expect(response.status).toBe(413)
    const fits = signup({ padding: "" })
    const room = 64 * 1024 - JSON.stringify(fits).length
    expect((await signUp({ padding: "x".repeat(room) })).status).toBe(201)
  })

  it("computes one password hash for a known or a new email", async () => {
    const { hashes } = programme.settings
    const before = hashes.hashed
    expect((await signUp({ email: "cost@example.com" })).status).toBe(201)
    expect(hashes.hashed).toBe(before + 1)
    expect((await signUp({ email: "cost@example.com" })).status).toBe(409)
    expect(hashes.hashed).toBe(before + 2)
  })
})

describe("login", () => {
  it("returns a token that is valid for 24 hours", async () => {
    const reseller = await programme.reseller()
    const { status, headers, body } = await logIn(reseller.email.toUpperCase(), reseller.password)
    expect(status).toBe(200)
    expect(body).toEqual({
      token: expect.any(String),
      reseller: { id: reseller.id, email: reseller.email, name: "Toko Token", status: "active" }
    })
    expect(headers.get("cache-control")).toBe("no-store")
    const { exp = 0, iat = 0, sub, aud } = decodeJwt(textOf(body.token))
    expect({ valid: exp - iat, sub, aud }).toEqual({ valid: 86_400, sub: reseller.id, aud: "reseller" })
    expect((await programme.get("/api/reseller/me", { token: textOf(body.token) })).status).toBe(200)
  })

  it("returns the same 401 for a wrong password as for unknown emails", async () => {
    const { email } = await programme.reseller()
    const { hashes } = programme.settings
    const messages = new Set<string>()
    for (const who of [email, "unknown@example.com", "unknown", "a\u0000b@example.com", "", "x".repeat(60_000)]) {
      const before = hashes.verified
      const response = await programme.post(LOGIN, {
        body: { email: who, password: "wrong" },
        headers: anotherAddress()
      })
      expect(refusalIn(response)).toBe("401 invalid_credentials")
      expect(hashes.verified).toBe(before + 1)
      messages.add(textOf(response.body.error?.message))
    }
    expect(messages.size).toBe(1)
  })

  it.each([
    ["pending", []],
    ["rejected", ["reject"]],
    ["suspended", ["approve", "suspend"]]
  ] as const)("returns 403 reseller_not_active for a %s reseller", async (status, moves) => {
    const { email, password } = await programme.reseller({ moves })
    const response = await logIn(email, password)
    expect(refusalIn(response)).toBe("403 reseller_not_active")
    expect(textOf(response.body.error?.message)).toContain(status)
    expect(refusalIn(await logIn(email, "wrong"))).toBe("401 invalid_credentials")
  })

  it("returns 429 rate_limited after 5 attempts in a minute", async () => {
    const { email, password } = await programme.reseller()
    const { hashes } = programme.settings
    for (let i = 0; i < 5; i++) expect(refusalIn(await logIn(email, "wrong"))).toBe("401 invalid_credentials")
    const before = hashes.verified
    const response = await logIn(email, password)
    expect(refusalIn(response)).toBe("429 rate_limited")
    expect(response.headers.get("retry-after")).toMatch(/^([1-9]|[1-5]\d|60)$/)
    expect(hashes.verified).toBe(before)
    from = anotherAddress()
    expect((await logIn(email, password)).status).toBe(200)
  })

  it("is limited by an IP address that a client cannot forge", async () => {
    const { email } = await programme.reseller()
    const claim = (claimed: string) =>
      programme.post(LOGIN, {
        body: { email, password: "wrong" },
        headers: { "x-forwarded-for": `${claimed}, ${from["x-forwarded-for"]}` }
      })
    for (let i = 0; i < 5; i++) expect((await claim(`203.0.113.${i}`)).status).toBe(401)
    expect(refusalIn(await claim("203.0.113.99"))).toBe("429 rate_limited")
  })

  it.each([
    ["no members", {}, ["email", "password"]],
    ["a password that is an array", { email: "a@example.com", password: ["x"] }, ["password"]]
  ])("returns 422 validation_error for %s", async (_, body, paths) => {
    const response = await programme.post(LOGIN, { body, headers: from })
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(pathsIn(response)).toEqual(paths)
  })
})

describe("a logged-in reseller", () => {
  it("reads its id, email, name and status", async () => {
    const { id, email, token } = await programme.reseller()
    const { status, headers, body } = await programme.get("/api/reseller/me", { token })
    expect({ status, body }).toEqual({ status: 200, body: { id, email, name: "Toko Token", status: "active" } })
    expect(headers.get("cache-control")).toBe("no-store")
  })

  it("reads its quota as a string of digits", async () => {
    const poor = await programme.reseller()
    expect((await programme.get("/api/reseller/balance", poor)).body).toEqual({ balance_usd_micro: "0" })
    const rich = await programme.reseller({ quotaUsdMicro: 987_654_321_012_345n })
    expect((await programme.get("/api/reseller/balance", rich)).text).toBe('{"balance_usd_micro":"987654321012345"}')
  })

  it("receives 404 for an unknown path", async () => {
    const { token } = await programme.reseller()
    expect(refusalIn(await programme.get("/api/reseller/nowhere", { token }))).toBe("404 not_found")
  })

  it("receives 405 with Allow for a wrong method", async () => {
    const { token } = await programme.reseller()
    const wrong = await programme.post("/api/reseller/me", { token })
    expect(refusalIn(wrong)).toBe("405 method_not_allowed")
    expect(wrong.headers.get("allow")).toBe("GET, HEAD")
  })
})
