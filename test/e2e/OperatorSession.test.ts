/**
 * Tests operator sessions from the command line to the HTTP API (docs/reference/operator.md#sessions).
 */
import { OpenApi } from "@effect/platform"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { documentOf, tollgate, useDatabase } from "../cli/CommandLine.ts"
import { refusalIn } from "../support/ResellerRefusals.ts"
import { textOf } from "../support/SimulatedPayments.ts"
import { TestProgramme } from "../support/TestProgramme.ts"

const SESSION = "/api/operator/session"
const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start({ trustedProxies: "127.0.0.1" })
  useDatabase(programme.settings.database.url)
})
afterAll(() => programme.close())

const run = async (...args: ReadonlyArray<string>) =>
  documentOf(await Effect.runPromise(tollgate(...args, "--json"))) as Readonly<Record<string, string>>
const codeIn = ({ url }: Readonly<Record<string, string>>) => url?.split("#code=")[1] ?? ""
const newCode = async () => codeIn(await run("console", "--name", "ani"))

let addresses = 0
/** Returns the header with which the trusted proxy of the tests names a client. Each call names another client. */
const aClient = () => ({ "x-forwarded-for": `198.51.100.${++addresses}` })

const redeem = (code: unknown, headers: Readonly<Record<string, string>> = aClient()) =>
  programme.post(SESSION, { body: { code }, headers })
const newToken = async () => textOf((await redeem(await newCode())).body.token)

/** The method and path of every operation that requires the token of an operator session. */
const routes = Object.entries(OpenApi.fromApi(GatewayApi).paths).flatMap(([path, operations]) =>
  Object.entries(operations)
    .filter(([, { security }]) => security.some((way) => "operatorToken" in way))
    .map(([method]) => [method.toUpperCase(), path.replace(/\{\w+\}/g, UNKNOWN_ID)] as const)
)

describe("an operator session", () => {
  it("ends when it is revoked", async () => {
    const created = await run("console", "--name", "ani")
    const opened = await redeem(codeIn(created))
    expect(opened.status).toBe(201)
    const session = {
      id: created.session_id,
      actor: "ani",
      created_at: expect.any(String),
      expires_at: expect.any(String)
    }
    expect(opened.body).toEqual({ token: expect.stringMatching(/^tgo_[\w-]{43}$/), session })
    const token = textOf(opened.body.token)
    const current = await programme.get(SESSION, { token })
    expect([current.status, current.body]).toEqual([200, { session }])
    expect(current.headers.get("set-cookie")).toBeNull()

    await run("console", "revoke", created.session_id ?? "")
    expect(refusalIn(await programme.get(SESSION, { token }))).toBe("401 invalid_session")
  })

  it("ends when its operator ends it", async () => {
    const token = await newToken()
    const ended = await programme.delete(SESSION, { token })
    expect([ended.status, ended.body]).toEqual([200, { ended: true }])
    expect(refusalIn(await programme.delete(SESSION, { token, headers: aClient() }))).toBe("401 invalid_session")
    const [entry] = await programme.query("SELECT actor, action FROM audit_log ORDER BY seq DESC LIMIT 1")
    expect(entry).toEqual({ actor: "ani", action: "console.end" })
  })

  it("is opened once by its code", async () => {
    const code = await newCode()
    expect((await redeem(code)).status).toBe(201)
    for (const wrong of [code, "", "tgc_x", code.toUpperCase()]) {
      expect(refusalIn(await redeem(wrong))).toBe("401 invalid_code")
    }
    for (const body of [{}, { code: 7 }, [], "{"]) {
      expect(refusalIn(await programme.post(SESSION, { body }))).toBe("422 validation_error")
    }
    expect(refusalIn(await programme.post(`${SESSION}?code=${await newCode()}`))).toBe("422 validation_error")
  })

  it("with a wrong token is refused with 429 after ten failures", async () => {
    const client = aClient()
    const token = textOf((await redeem(await newCode(), client)).body.token)
    for (let i = 0; i < 5; i++) {
      expect(refusalIn(await redeem("wrong", client))).toBe("401 invalid_code")
      expect(refusalIn(await programme.get(SESSION, { token: "wrong", headers: client }))).toBe("401 invalid_session")
    }
    expect(refusalIn(await redeem("wrong", client))).toBe("429 rate_limited")
    expect(refusalIn(await programme.get(SESSION, { token: "wrong", headers: client }))).toBe("429 rate_limited")
    expect(refusalIn(await redeem("wrong"))).toBe("401 invalid_code")
    expect((await programme.get(SESSION, { token, headers: client })).status).toBe(200)
    expect((await redeem(await newCode(), client)).status).toBe(201)
  })

  it("is accepted only in the Authorization header", async () => {
    const token = await newToken()
    const { token: reseller } = await programme.reseller()
    expect(routes.length).toBeGreaterThan(1)
    for (const [method, path] of routes) {
      const body = method === "POST" || method === "PUT" ? { body: "{" } : {}
      const asks = [
        { path, asking: {} },
        { path, asking: { token: reseller } },
        { path: `${path}?token=${token}&access_token=${token}`, asking: {} },
        { path, asking: { headers: { cookie: `token=${token}`, "x-api-key": token } } },
        { path, asking: { headers: { authorization: `Basic ${token}` } } }
      ]
      for (const { asking, path } of asks) {
        const headers = { ...aClient(), ...("headers" in asking ? asking.headers : {}) }
        const refused = await programme.ask(method, path, { ...body, ...asking, headers })
        expect(refusalIn(refused), `${method} ${path}`).toBe("401 invalid_session")
      }
    }
  })
})

describe("an operator API that is off", () => {
  it("returns 404 operator_console_off on every route", async () => {
    const token = await newToken()
    const code = await newCode()
    const off = await TestProgramme.start({ database: programme.settings.database, operatorConsole: false })
    for (const [method, path] of [["POST", SESSION], ...routes] as const) {
      const body = method === "POST" || method === "PUT" ? { body: { code } } : {}
      expect(refusalIn(await off.ask(method, path, { token, ...body })), `${method} ${path}`).toBe(
        "404 operator_console_off"
      )
    }
    expect(refusalIn(await off.ask("POST", SESSION, { body: {} }))).toBe("404 operator_console_off")
    await off.close()
  })
})
