/**
 * Tests the change of a reseller's password and the logout over HTTP (docs/reference/reseller.md#k6).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { textOf } from "../support/SimulatedPayments.ts"
import { type Actor, TestProgramme } from "../support/TestProgramme.ts"

const PASSWORD = "/api/reseller/auth/password"
const NEW_PASSWORD = "another horse battery"

let programme: TestProgramme
beforeAll(async () => {
  programme = await TestProgramme.start()
})
afterAll(() => programme.close())

const me = async (token: string) => (await programme.get("/api/reseller/me", { token })).status
const logIn = ({ email }: Actor, password: string) =>
  programme.post("/api/reseller/auth/login", { body: { email, password } })
const change = ({ token }: Actor, current_password: string, new_password = NEW_PASSWORD) =>
  programme.post(PASSWORD, { token, body: { current_password, new_password } })

describe("a change of the password", () => {
  it("ends the earlier tokens", async () => {
    const reseller = await programme.reseller()
    const other = textOf((await logIn(reseller, reseller.password)).body.token)
    const changed = await change(reseller, reseller.password)
    expect({ status: changed.status, body: changed.body }).toEqual({
      status: 200,
      body: {
        token: expect.any(String),
        reseller: { id: reseller.id, email: reseller.email, name: "Toko Token", status: "active" }
      }
    })
    expect([await me(reseller.token), await me(other), await me(textOf(changed.body.token))]).toEqual([401, 401, 200])
    expect((await logIn(reseller, reseller.password)).status).toBe(401)
    expect((await logIn(reseller, NEW_PASSWORD)).status).toBe(200)
    const entries = await programme.query(
      "SELECT actor, action, detail FROM audit_log WHERE subject = $1 AND action = 'reseller.password'",
      [reseller.id]
    )
    expect(entries).toEqual([
      { actor: `reseller:${reseller.id}`, action: "reseller.password", detail: { email: reseller.email } }
    ])
  })

  it("is refused with 422 for a wrong current password or a short new password", async () => {
    const reseller = await programme.reseller()
    const wrong = await change(reseller, "a wrong password")
    expect([refusalIn(wrong), ...pathsIn(wrong)]).toEqual(["422 validation_error", "current_password"])
    const short = await change(reseller, reseller.password, "short")
    expect([refusalIn(short), ...pathsIn(short)]).toEqual(["422 validation_error", "new_password"])
    expect(await me(reseller.token)).toBe(200)
    expect((await logIn(reseller, reseller.password)).status).toBe(200)
  })

  it("counts as a login attempt if it is refused", async () => {
    const reseller = await programme.reseller()
    for (let i = 0; i < 5; i++) expect((await change(reseller, "a wrong password")).status).toBe(422)
    expect(refusalIn(await change(reseller, reseller.password))).toBe("429 rate_limited")
    expect(refusalIn(await logIn(reseller, reseller.password))).toBe("429 rate_limited")
  })

  it("succeeds once when two requests run concurrently", async () => {
    const reseller = await programme.reseller()
    const responses = await Promise.all([
      change(reseller, reseller.password, "the first password"),
      change(reseller, reseller.password, "the second password")
    ])
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe("a logout", () => {
  it("ends the tokens of the reseller", async () => {
    const reseller = await programme.reseller()
    const other = textOf((await logIn(reseller, reseller.password)).body.token)
    const loggedOut = await programme.post("/api/reseller/auth/logout", { token: reseller.token })
    expect({ status: loggedOut.status, body: loggedOut.body }).toEqual({ status: 200, body: { logged_out: true } })
    expect([await me(reseller.token), await me(other)]).toEqual([401, 401])
    expect(await me(textOf((await logIn(reseller, reseller.password)).body.token))).toBe(200)
  })
})
