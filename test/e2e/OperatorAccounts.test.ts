/**
 * Tests customers, keys, the blacklist, holds, nodes and the audit in the operator API (docs/reference/operator.md).
 */
import { lastMigration } from "@tollgate/adapters-postgres/migrations/NodeVersions"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { documentOf, tollgate, useDatabase } from "../cli/CommandLine.ts"
import { type OperatorCalls, operatorCalls } from "../support/OperatorCalls.ts"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { textOf } from "../support/SimulatedPayments.ts"
import { until } from "../support/TestGateway.ts"
import { TestProgramme } from "../support/TestProgramme.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

let programme: TestProgramme
let ani: OperatorCalls
beforeAll(async () => {
  programme = await TestProgramme.start()
  useDatabase(programme.settings.database.url)
  ani = await operatorCalls(programme, "ani")
})
afterAll(() => programme.close())

const printed = (...args: ReadonlyArray<string>) => Effect.runPromise(tollgate(...args, "--json")).then(documentOf)
const lastAudited = async () =>
  (await programme.query("SELECT actor, action, reason FROM audit_log ORDER BY seq DESC LIMIT 1"))[0]

describe("customers in the operator API", () => {
  it("are credited once per operation id", async () => {
    const created = await ani.post("/customers", { email: " New@Example.com " })
    expect([created.status, created.body]).toEqual([
      201,
      { user_id: ID, email: "new@example.com", status: "active", created_at: TIME }
    ])
    expect(await lastAudited()).toEqual({ actor: "ani", action: "user.create", reason: "console: users create" })
    expect(refusalIn(await ani.post("/customers", { email: "new@example.com" }))).toBe("409 user_exists")
    expect(pathsIn(await ani.post("/customers", { email: "new" }))).toEqual(["email"])

    const id = textOf(created.body.user_id)
    const credit = (amount_usd_micro: unknown, operation_id = "first") =>
      ani.post(`/customers/${id}/credit`, { amount_usd_micro, operation_id, reason: "goodwill" })
    const payg = { currency: "USD", balance: "1.500000", balance_usd_micro: "1500000" }
    const credited = { user_id: id, email: "new@example.com", operation_id: "first", amount_usd_micro: "1500000", payg }
    expect((await credit("1500000")).body).toEqual({ ...credited, already_applied: false })
    expect((await credit("1500000")).body).toEqual({ ...credited, already_applied: true })
    expect(refusalIn(await credit("1"))).toBe("409 operation_conflict")
    for (const amount of ["0", "-1", "1000000000001", 5]) {
      expect(pathsIn(await credit(amount)), `${amount}`).toEqual(["amount_usd_micro"])
    }
    const nine = Array.from({ length: 9 }, (_, n) => `million ${n}`)
    for (const operation of nine) expect((await credit("999999000000", operation)).status).toBe(200)
    const most = await credit("1000000000000", "one more")
    expect(refusalIn(most)).toBe("422 amount_out_of_range")
    expect(pathsIn(most)).toEqual(["amount_usd_micro"])
    for (const named of [id, "NEW%40example.com"]) {
      expect((await ani.get(`/customers/${named}`)).body).toEqual(await printed("users", "show", "new@example.com"))
    }
    for (const named of [UNKNOWN_ID, "nothing", "no@example.com"]) {
      expect(refusalIn(await ani.get(`/customers/${named}`))).toBe("404 user_not_found")
    }
    const unknown = { amount_usd_micro: "1", operation_id: "second", reason: "goodwill" }
    expect(refusalIn(await ani.post(`/customers/${UNKNOWN_ID}/credit`, unknown))).toBe("404 user_not_found")
  })

  it("can be linked to a reseller", async () => {
    const { id, email } = await programme.reseller()
    const linked = { user_id: ID, email: "new@example.com", reseller_id: id, reseller_email: email }
    expect((await ani.post(`/resellers/${email}/customers`, { email: "new@example.com" })).body).toEqual(linked)
    expect(await lastAudited()).toEqual({ actor: "ani", action: "customer.link", reason: "console: customers link" })
    const none = { email: "no@example.com" }
    expect(refusalIn(await ani.post(`/resellers/${id}/customers`, none))).toBe("404 user_not_found")
    expect(refusalIn(await ani.post(`/resellers/${UNKNOWN_ID}/customers`, none))).toBe("404 reseller_not_found")
  })

  it("are listed as the command line lists them", async () => {
    const { id, email } = await programme.reseller()
    for (let i = 0; i < 4; i++) await programme.customerOf({ id, email, password: "", token: "" }, 1n)
    expect(await ani.all("/customers", 2)).toEqual(await printed("users", "list"))
    const found = await printed("users", "list", "--search", "NEW@", "--status", "active")
    expect(await ani.all("/customers?search=NEW%40&status=active", 50)).toEqual(found)
    for (const path of ["/customers?status=gone", "/customers?search=", "/customers?cursor=x"]) {
      expect(refusalIn(await ani.get(path)), path).toBe("422 validation_error")
    }
  })
})

describe("API keys in the operator API", () => {
  it("are listed without their secrets, and can be revoked", async () => {
    const reseller = await programme.reseller()
    const { userId, email } = await programme.customerOf(reseller)
    const secrets: Array<string> = []
    const ids: Array<string> = []
    for (const name of ["one", "two", "three"]) {
      const key = await programme.post(`/api/reseller/customers/${userId}/keys`, {
        token: reseller.token,
        body: { name }
      })
      secrets.push(textOf(key.body.secret))
      ids.unshift(textOf(key.body.key_id))
    }
    const keyIds = (items: ReadonlyArray<unknown>) => items.map((item) => (item as { key_id: string }).key_id)
    expect(keyIds(await ani.all(`/customers/${email}/keys`, 2))).toEqual(ids)
    expect(await ani.all(`/resellers/${reseller.id}/keys`, 50)).toEqual(await ani.all(`/customers/${userId}/keys`, 50))
    const { text } = await ani.get(`/customers/${userId}/keys`)
    for (const secret of secrets) expect(text).not.toContain(secret.slice(-49))

    const [last = ""] = ids
    const revoked = await ani.post(`/keys/${last}/revoke`, { reason: "leaked" })
    expect(revoked.body).toEqual({ key_id: last, name: "three", revoked: true, revoked_at: TIME })
    expect((await ani.post(`/keys/${last}/revoke`, {})).body).toEqual(revoked.body)
    expect(await lastAudited()).toEqual({ actor: "ani", action: "key.revoke", reason: "leaked" })
    for (const id of [UNKNOWN_ID, "nothing"]) {
      expect(refusalIn(await ani.post(`/keys/${id}/revoke`, {}))).toBe("404 key_not_found")
    }
    expect(refusalIn(await ani.get("/customers/nothing/keys"))).toBe("404 user_not_found")
    expect(refusalIn(await ani.get("/resellers/nothing/keys"))).toBe("404 reseller_not_found")
  })
})

describe("the blacklist in the operator API", () => {
  it("contains a pattern once until it is removed", async () => {
    for (const pattern of ["@Spam.example", "bad@example.com", "@a.example", "@b.example", "@a.example"]) {
      const added = await ani.post("/blacklist", { pattern, reason: "ticket 9" })
      expect(added.body).toEqual({ pattern: pattern.toLowerCase(), created_at: TIME, listed: true })
    }
    expect(await ani.all("/blacklist", 3)).toEqual(await printed("blacklist", "list"))
    const removed = await ani.post("/blacklist/remove", { pattern: "@a.example" })
    expect(removed.body).toEqual({ pattern: "@a.example", created_at: TIME, listed: false })
    const again = await ani.post("/blacklist/remove", { pattern: "@a.example" })
    expect(refusalIn(again)).toBe("404 pattern_not_listed")
    expect(await lastAudited()).toEqual({
      actor: "ani",
      action: "blacklist.remove",
      reason: "console: blacklist remove"
    })
    expect((await ani.all("/blacklist", 50)).length).toBe(3)
    expect(pathsIn(await ani.post("/blacklist", { pattern: "example.com" }))).toEqual(["pattern"])
    expect(pathsIn(await ani.get("/blacklist?cursor=x"))).toEqual(["cursor"])
  })
})

describe("holds and nodes in the operator API", () => {
  it("show the open requests", async () => {
    const reseller = await programme.reseller()
    const { userId, email } = await programme.customerOf(reseller, 10_000_000n)
    const key = await programme.post(`/api/reseller/customers/${userId}/keys`, {
      token: reseller.token,
      body: { name: "key" }
    })
    const before = await ani.get("/nodes")
    const node = {
      node_id: ID,
      state: "alive",
      started_at: TIME,
      beat_at: TIME,
      left_at: null,
      last_migration: lastMigration
    }
    expect(before.body).toEqual({ data: [{ ...node, open_requests: 0 }], next_cursor: null })

    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const reply = json(completion({ usage: usage(3, 2) }))
    for (let i = 0; i < 3; i++) programme.upstream.next({ ...reply, steps: [() => opened, ...reply.steps] })
    const body = { model: "m", messages: [{ role: "user", content: "hi" }] }
    const requests = [0, 1, 2].map(() =>
      programme.post("/v1/chat/completions", { token: textOf(key.body.secret), body })
    )
    await until(async () => (await programme.query("SELECT 1 FROM open_request")).length === 3)
    const holds = await ani.all("/holds", 2)
    expect(holds.map((hold) => (hold as { email: string }).email)).toEqual([email, email, email])
    expect(holds).toEqual(await printed("holds", "list"))
    expect((await ani.get("/nodes")).body).toEqual({ data: [{ ...node, open_requests: 3 }], next_cursor: null })
    expect((await ani.post("/holds/sweep")).body).toEqual({ swept: 0 })
    expect((await ani.all("/holds", 50)).length).toBe(3)
    open()
    for (const request of requests) expect((await request).status).toBe(200)
    await programme.settled()
    expect(await ani.all("/holds", 50)).toEqual([])
  })
})

describe("the audit in the operator API", () => {
  it("has the checks of the command line", async () => {
    expect((await ani.get("/audit")).body).toEqual({ audit: null })
    const run = await ani.post("/audit")
    const { checks, figures, ok } = (await printed("audit")) as Readonly<Record<string, unknown>>
    expect([run.status, run.body]).toEqual([
      200,
      { actor: "ani", started_at: TIME, finished_at: TIME, ok, checks, figures }
    ])
    expect(ok).toBe(true)
    expect((await ani.get("/audit")).body).toEqual({ audit: run.body })
  })

  it("reports a violation", async () => {
    await programme.query(
      "UPDATE account SET debits_pending = debits_pending + 1 WHERE kind = 'payg' AND credits_posted > 1"
    )
    const { body } = await ani.post("/audit")
    await programme.query(
      "UPDATE account SET debits_pending = debits_pending - 1 WHERE kind = 'payg' AND credits_posted > 1"
    )
    expect(body.ok).toBe(false)
    expect(((await ani.get("/audit")).body as unknown as { audit: unknown }).audit).toEqual(body)
  })
})
