/**
 * Tests quota movements, key limits, usage, sessions, checks and the audit log in the operator API
 * (docs/reference/operator.md).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type OperatorCalls, operatorCalls } from "../support/OperatorCalls.ts"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { listOf, textOf } from "../support/SimulatedPayments.ts"
import { until } from "../support/TestGateway.ts"
import { type Actor, type Customer, TestProgramme } from "../support/TestProgramme.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const CHAT = { model: "m", messages: [{ role: "user", content: "hi" }] }

let programme: TestProgramme
let ani: OperatorCalls
let reseller: Actor
let customer: Customer
beforeAll(async () => {
  programme = await TestProgramme.start()
  ani = await operatorCalls(programme, "ani")
  reseller = await programme.reseller({ quotaUsdMicro: 5_000_000n })
  customer = await programme.customerOf(reseller, 1_000_000n)
})
afterAll(() => programme.close())

const aKey = async (): Promise<readonly [id: string, secret: string]> => {
  const path = `/api/reseller/customers/${customer.userId}/keys`
  const { body } = await programme.post(path, { token: reseller.token, body: { name: "laptop" } })
  return [textOf(body.key_id), textOf(body.secret)]
}

describe("resellers in the operator API", () => {
  it("are found by a part of their name or email", async () => {
    const found = async (search: string) => {
      const all = await ani.all(`/resellers?search=${encodeURIComponent(search)}`, 50)
      return all.map((each) => (each as { id: string }).id)
    }
    expect(await found(reseller.email.slice(0, -3).toUpperCase())).toEqual([reseller.id])
    expect(await found("toko TOKEN")).toContain(reseller.id)
    expect(await found("%")).toEqual([])
    expect(pathsIn(await ani.get("/resellers?search="))).toEqual(["search"])
  })

  it("have a list of their quota movements", async () => {
    for (const [operation_id, amount_usd_micro] of [
      ["first", "2000000"],
      ["second", "-500000"]
    ]) {
      await ani.post(`/resellers/${reseller.id}/quota`, { operation_id, amount_usd_micro, reason: "test" })
    }
    const movement = { at: TIME, kind: "adjustment", reference: null }
    expect(await ani.all(`/resellers/${reseller.email}/movements`, 2)).toEqual(
      ["-500000", "2000000", "5000000"].map((change_usd_micro) => ({ ...movement, change_usd_micro }))
    )
    expect(refusalIn(await ani.get("/resellers/nothing/movements"))).toBe("404 reseller_not_found")
  })
})

describe("the limits of a key in the operator API", () => {
  it("are replaced as a whole", async () => {
    const [id, secret] = await aKey()
    const none = { key_id: id, name: "laptop", user_id: customer.userId, created_at: TIME, revoked_at: null }
    expect((await ani.get(`/keys/${id}`)).body).toEqual({ ...none, limits: null, limit_usage: null })

    const set = (limits: object) => ani.put(`/keys/${id}/limits`, { limits, reason: "agreed" })
    await set({ spend_usd_micro_total: 1_000, models: ["m"] })
    const { body } = await set({ requests_per_minute: 1 })
    expect(body).toMatchObject({ limits: { requests_per_minute: 1, spend_usd_micro_total: null, models: null } })
    programme.upstream.next(json(completion({ usage: usage(3, 2) })))
    expect((await programme.post("/v1/chat/completions", { token: secret, body: CHAT })).status).toBe(200)
    expect((await programme.post("/v1/chat/completions", { token: secret, body: CHAT })).status).toBe(429)
    await programme.settled()
    expect((await ani.get(`/keys/${id}`)).body).toMatchObject({
      limit_usage: { spent_usd_micro_total: "7", requests_this_minute: 1, open_requests: 0 }
    })
    expect((await set({})).body).toMatchObject({ limits: null, limit_usage: null })

    expect(pathsIn(await set({ requests_per_minute: 0, models: ["unknown"] }))).toEqual(["limits.requests_per_minute"])
    expect(pathsIn(await set({ models: ["unknown"] }))).toEqual(["limits.models"])
    expect(pathsIn(await set({ spend: 1 }))).toEqual(["limits.spend"])
    for (const unknown of [UNKNOWN_ID, "nothing"]) {
      expect(refusalIn(await ani.get(`/keys/${unknown}`))).toBe("404 key_not_found")
      expect(refusalIn(await ani.put(`/keys/${unknown}/limits`, { limits: {} }))).toBe("404 key_not_found")
    }
  })
})

describe("the usage of a customer in the operator API", () => {
  it("equals the usage that the customer reads", async () => {
    const [, secret] = await aKey()
    programme.upstream.next(json(completion({ usage: usage(30, 20) })))
    await programme.post("/v1/chat/completions", { token: secret, body: CHAT })
    await programme.settled()
    const settled = await programme.query("SELECT 1 FROM settlement WHERE user_id = $1", [customer.userId])
    const own = async () => listOf((await programme.get("/v1/usage", { token: secret })).body.data)
    await until(async () => (await own()).length === settled.length)
    const items = await own()
    const all = await ani.all(`/customers/${customer.email}/usage`, 1)
    expect(all).toEqual(items.map((item) => ({ user_id: customer.userId, ...item })))
    const days = await ani.get(`/customers/${customer.userId}/usage/daily?model=m`)
    expect(days.body).toEqual((await programme.get("/v1/usage/daily?model=m", { token: secret })).body)
    expect((await ani.get(`/customers/${customer.userId}/usage?model=a`)).body).toEqual({ data: [], next_cursor: null })
    expect(refusalIn(await ani.get("/customers/nothing/usage"))).toBe("404 user_not_found")
    expect(pathsIn(await ani.get(`/customers/${customer.userId}/usage/daily?from=x`))).toEqual(["from"])
  })
})

describe("top-ups in the operator API", () => {
  it("are refreshed together by one request", async () => {
    const order = async () => {
      const options = { token: reseller.token, body: { method: "qris", amount_idr: 10_000 } }
      return (await programme.post("/api/reseller/topup", options)).body
    }
    const [paid, open] = [await order(), await order()]
    await programme.simulate("pay", textOf(paid.order_number))
    const refreshed = await ani.post("/topups/refresh")
    expect([refreshed.status, refreshed.body]).toEqual([
      200,
      { attempted: 2, refreshed: 2, credited: 1, without_provider: 0 }
    ])
    expect((await ani.get(`/topups/${textOf(paid.id)}`)).body.status).toBe("credited")
    expect((await ani.get(`/topups/${textOf(open.id)}`)).body.status).toBe("pending")
  })
})

describe("sessions in the operator API", () => {
  it("can be ended by another operator", async () => {
    const budi = await operatorCalls(programme, "budi")
    const { sessions } = (await ani.get("/sessions")).body as unknown as {
      sessions: ReadonlyArray<Readonly<Record<string, unknown>>>
    }
    const open = { state: "open", created_at: TIME, opened_at: TIME, used_at: TIME, ended_at: null, expires_at: TIME }
    expect(sessions).toEqual([
      { id: ID, actor: "budi", ...open, current: false },
      { id: ID, actor: "ani", ...open, current: true }
    ])
    const ended = await ani.post(`/sessions/${sessions[0]?.id}/end`, { reason: "left" })
    expect(ended.body).toMatchObject({ actor: "budi", state: "ended", ended_at: TIME })
    expect(refusalIn(await budi.get("/sessions"))).toBe("401 invalid_session")
    for (const unknown of [UNKNOWN_ID, "nothing"]) {
      expect(refusalIn(await ani.post(`/sessions/${unknown}/end`, {}))).toBe("404 session_not_found")
    }
  })
})

describe("the service in the operator API", () => {
  it("shows the circuit breakers of the node that responds", async () => {
    const { body } = await ani.get("/providers")
    expect(body).toEqual({ node_id: ID, providers: [{ name: "scripted", breaker: "closed", open_exchanges: 0 }] })
    const { data } = (await ani.get("/nodes")).body as unknown as { data: ReadonlyArray<{ node_id: string }> }
    expect(data.map(({ node_id }) => node_id)).toContain(body.node_id)
  })

  it("checks the database, the catalog and the payment providers", async () => {
    interface Checks {
      readonly ok: boolean
      readonly checks: ReadonlyArray<{ check: string; status: string; detail: string; advice: string | null }>
    }
    const run = async () => (await ani.post("/doctor")).body as unknown as Checks
    const healthy = await run()
    const names = healthy.checks.map(({ check }) => check)
    for (const name of ["database", "catalog", "provider scripted", "holds", "images", "payments qris"]) {
      expect(names).toContain(name)
    }
    expect(healthy.ok).toBe(true)
    for (const { advice, status } of healthy.checks) expect(advice === null).toBe(status === "ok")

    await programme.fault("503")
    const faulty = await run()
    for (const { advice, status } of faulty.checks) expect(advice === null).toBe(status === "ok")
    await programme.fault("none")
    const qris = faulty.checks.find(({ check }) => check === "payments qris")
    expect(qris).toMatchObject({ status: "warn", advice: expect.stringContaining("until the provider responds again") })
  })

  it("reports a missing migration", async () => {
    await programme.query("CREATE TABLE unapplied AS SELECT * FROM migration ORDER BY name DESC LIMIT 1")
    await programme.query("DELETE FROM migration WHERE name IN (SELECT name FROM unapplied)")
    await programme.query("ALTER TABLE image_review RENAME TO not_migrated")
    const { status, body } = await ani.post("/doctor")
    await programme.query("ALTER TABLE not_migrated RENAME TO image_review")
    await programme.query("INSERT INTO migration SELECT * FROM unapplied")
    await programme.query("DROP TABLE unapplied")
    expect(status).toBe(200)
    const checks = body.checks as unknown as ReadonlyArray<{ check: string; status: string }>
    expect(body.ok).toBe(false)
    const migrations = checks.find(({ check }) => check === "migrations")
    expect(migrations).toMatchObject({ status: "fail", advice: "Run: tollgate migrate" })
    expect(checks.filter(({ check }) => /^(catalog|provider|holds|images)/.test(check))).toEqual([])
  })
})

describe("the audit log in the operator API", () => {
  it("contains the actor and the reason of a change", async () => {
    await ani.post("/blacklist", { pattern: "@spam.example", reason: "ticket 9" })
    const entries = await ani.all("/audit-log", 3)
    const stored = await programme.query("SELECT seq::text AS sequence FROM audit_log ORDER BY seq DESC")
    expect(entries.map((entry) => ({ sequence: (entry as { sequence: string }).sequence }))).toEqual(stored)
    expect(entries[0]).toEqual({
      sequence: expect.stringMatching(/^\d+$/),
      at: TIME,
      actor: "ani",
      action: "blacklist.add",
      subject: "@spam.example",
      reason: "ticket 9",
      detail: expect.any(Object)
    })
    expect(pathsIn(await ani.get("/audit-log?cursor=x"))).toEqual(["cursor"])
    const { next_cursor } = (await ani.get("/audit-log?limit=1")).body
    expect(pathsIn(await ani.get(`/blacklist?cursor=${textOf(next_cursor)}`))).toEqual(["cursor"])
  })
})
