/**
 * Tests reseller reviews, flagged top-ups and image reviews in the operator API (docs/reference/operator.md).
 */
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import { outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { aRequest } from "../adapters-postgres/ledger/Customers.ts"
import { documentOf, tollgate, useDatabase } from "../cli/CommandLine.ts"
import { type OperatorCalls, operatorCalls } from "../support/OperatorCalls.ts"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { textOf } from "../support/SimulatedPayments.ts"
import { type Actor, TestProgramme } from "../support/TestProgramme.ts"

const UNKNOWN_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

let programme: TestProgramme
let ani: OperatorCalls
beforeAll(async () => {
  programme = await TestProgramme.start()
  useDatabase(programme.settings.database.url)
  ani = await operatorCalls(programme, "ani")
})
afterAll(() => programme.close())

/** Returns the audit log entries about a subject, oldest first. */
const audited = (subject: string) =>
  programme.query("SELECT actor, action, reason FROM audit_log WHERE subject = $1 ORDER BY seq", [subject])
const printed = (...args: ReadonlyArray<string>) => Effect.runPromise(tollgate(...args, "--json")).then(documentOf)

describe("resellers in the operator API", () => {
  it("are approved with an entry in the audit log", async () => {
    const { id, email } = await programme.reseller({ moves: [] })
    const created = (await printed("console", "--name", "budi")) as Readonly<Record<string, string>>
    const code = created.url?.split("#code=")[1]
    const { token } = (await programme.post("/api/operator/session", { body: { code } })).body
    const path = `/api/operator/resellers/${id}/review`
    const approve = { token: textOf(token), body: { move: "approve", reason: "documents checked" } }
    const approved = await programme.post(path, approve)
    expect([approved.status, approved.body]).toEqual([
      200,
      { id, email, name: "Toko Token", wa_number: "628123456789", status: "active", created_at: TIME }
    ])
    expect(await audited(id)).toEqual([{ actor: "budi", action: "reseller.approve", reason: "documents checked" }])
    await printed("console", "revoke", created.session_id ?? "")
    expect(refusalIn(await programme.post(path, approve))).toBe("401 invalid_session")
  })

  it("are reviewed with the command's name as the default reason", async () => {
    const { id, email } = await programme.reseller({ moves: [] })
    const review = (move: string) => ani.post(`/resellers/${email}/review`, { move })
    expect((await review("reject")).body.status).toBe("rejected")
    expect((await review("approve")).body.status).toBe("active")
    expect((await review("suspend")).body.status).toBe("suspended")
    expect(refusalIn(await review("reject"))).toBe("409 review_refused")
    expect((await review("reactivate")).body.status).toBe("active")
    expect((await review("approve")).body.status).toBe("active")
    const moves = ["reject", "approve", "suspend", "reactivate"]
    expect(await audited(id)).toEqual(
      moves.map((move) => ({ actor: "ani", action: `reseller.${move}`, reason: `console: resellers ${move}` }))
    )
    expect(pathsIn(await review("delete"))).toEqual(["move"])
    expect(refusalIn(await ani.post(`/resellers/${UNKNOWN_ID}/review`, { move: "approve" }))).toBe(
      "404 reseller_not_found"
    )
  })

  it("are listed page by page as on the command line", async () => {
    const { id, email } = await programme.reseller({ moves: [], quotaUsdMicro: 7_000_000n })
    for (let i = 0; i < 4; i++) await programme.reseller({ moves: [] })
    for (const name of [id, email, encodeURIComponent(email.toUpperCase())]) {
      expect((await ani.get(`/resellers/${name}`)).body).toEqual(await printed("resellers", "show", email))
    }
    expect(await ani.all("/resellers?status=pending", 2)).toEqual(
      await printed("resellers", "list", "--status", "pending")
    )
    expect(await ani.all("/resellers", 100)).toEqual(await printed("resellers", "list"))
    const first = await ani.get("/resellers?limit=1")
    const foreign = `/topups?cursor=${textOf(first.body.next_cursor)}`
    for (const path of ["/resellers?status=closed", "/resellers?limit=0", "/resellers?limit=101", foreign]) {
      expect(refusalIn(await ani.get(path)), path).toBe("422 validation_error")
    }
    expect(refusalIn(await ani.get("/resellers/nothing"))).toBe("404 reseller_not_found")
  })

  it("lose quota once per operation id", async () => {
    const { id } = await programme.reseller({ quotaUsdMicro: 10_000_000n })
    const adjust = (amount_usd_micro: unknown, operation_id: string) =>
      ani.post(`/resellers/${id}/quota`, { amount_usd_micro, operation_id, reason: "ticket 9" })
    const adjusted = { reseller_id: id, operation_id: "a", amount_usd_micro: "-4000000", balance_usd_micro: "6000000" }
    expect((await adjust("-4000000", "a")).body).toEqual({ ...adjusted, already_applied: false })
    expect((await adjust("-4000000", "a")).body).toEqual({ ...adjusted, already_applied: true })
    expect(refusalIn(await adjust("4000000", "a"))).toBe("409 operation_conflict")
    expect(refusalIn(await adjust("-6000001", "b"))).toBe("402 insufficient_quota")
    for (const amount of [1, "1.5", "0", "", "1000000000000001"]) {
      expect(pathsIn(await adjust(amount, "c")), `${amount}`).toEqual(["amount_usd_micro"])
    }
    expect(pathsIn(await ani.post(`/resellers/${id}/quota`, {}))).toEqual([
      "amount_usd_micro",
      "operation_id",
      "reason"
    ])
    expect((await audited(id)).at(-1)).toEqual({ actor: "ani", action: "quota.adjust", reason: "ticket 9" })
  })
})

describe("top-ups in the operator API", () => {
  const order = async ({ token }: Actor, body: object) =>
    (await programme.post("/api/reseller/topup", { token, body })).body

  it("are listed by reseller, status and flag", async () => {
    const reseller = await programme.reseller()
    const crypto = { method: "crypto_bep20", amount_usd_micro: 10_000_000, token_kind: "usdt" }
    const paid = await order(reseller, crypto)
    const plain = await order(reseller, { method: "qris", amount_idr: 10_000 })
    const open = await order(reseller, { method: "hosted_qris", amount_idr: 10_000 })
    await programme.simulate("overpay", textOf(paid.order_number))
    await programme.simulate("pay", textOf(plain.order_number))
    for (const { id } of [paid, plain]) {
      const refreshed = await ani.post(`/topups/${textOf(id)}/refresh`)
      expect(refreshed.body).toMatchObject({ refreshed: true, topup: { id, status: "credited" } })
    }

    const ids = (items: ReadonlyArray<unknown>) => items.map((item) => (item as { id: string }).id)
    expect(ids(await ani.all(`/topups?reseller=${reseller.id}`, 2))).toEqual([open.id, plain.id, paid.id])
    expect(ids(await ani.all(`/topups?reseller=${reseller.email}&status=pending`, 50))).toEqual([open.id])
    const flagged = await ani.all("/topups?flagged=true", 50)
    expect(flagged).toMatchObject([{ id: paid.id, anomalies: ["overpaid"], status: "credited" }])

    for (const { id, order_number } of [paid, plain, open]) {
      const { body } = await ani.get(`/topups/${textOf(order_number)}`)
      const shown = (await printed("topups", "show", textOf(id))) as object
      const rupiah = { amount_idr: null, fee_idr: null, total_idr: null }
      expect(body).toEqual({ ...rupiah, token_kind: null, ...shown })
    }
    for (const path of ["/topups?flagged=no", "/topups?status=open", "/topups?status=pending&status=failed"]) {
      expect(refusalIn(await ani.get(path)), path).toBe("422 validation_error")
    }
    expect(refusalIn(await ani.get("/topups?reseller=nothing"))).toBe("404 reseller_not_found")
    for (const name of [UNKNOWN_ID, "nothing"]) {
      expect(refusalIn(await ani.get(`/topups/${name}`))).toBe("404 topup_not_found")
      expect(refusalIn(await ani.post(`/topups/${name}/refresh`))).toBe("404 topup_not_found")
    }
  })

  it("are returned as stored while their payment provider fails", async () => {
    const reseller = await programme.reseller()
    const { id } = await order(reseller, { method: "qris", amount_idr: 10_000 })
    await programme.fault("503")
    const { status, body } = await ani.post(`/topups/${textOf(id)}/refresh`)
    await programme.fault("none")
    expect([status, body]).toMatchObject([200, { refreshed: false, topup: { id, status: "pending" } }])
  })
})

describe("image reviews in the operator API", () => {
  /** Ends an image request of the customer without a charge, so that it waits for a review. */
  const anImage = (userId: string, keyId: string) =>
    programme.run(
      Effect.gen(function* () {
        const model = (yield* CurrentCatalog).get().models.get("m")
        if (model === undefined) return yield* Effect.dieMessage("the catalog has no model")
        const principal = { keyId: ApiKeyId.make(keyId), userId: UserId.make(userId) }
        const admission: Admission = { ...aRequest({ principal, model }), protocol: "images", streamed: false }
        const images = yield* ImageRequests
        yield* images.begin({ admission, idempotencyKey: undefined })
        const outcome = () => outcomeOf({ _tag: "TimedOut" }, true)
        yield* images.finish({ admission, outcome, durationMillis: 1 })
        return admission.requestId
      })
    )

  it("are waived or charged once", async () => {
    const reseller = await programme.reseller()
    const { userId, email } = await programme.customerOf(reseller, 1_000_000n)
    const key = await programme.post(`/api/reseller/customers/${userId}/keys`, {
      token: reseller.token,
      body: { name: "key" }
    })
    const images: Array<string> = []
    for (let i = 0; i < 3; i++) images.push(await anImage(userId, textOf(key.body.key_id)))
    const [first = "", second = "", third = ""] = images
    const open = {
      user_id: userId,
      email,
      model: "m",
      reason: "timeout",
      queued_at: TIME,
      resolution: null,
      charged_usd_micro: null,
      resolved_at: null,
      resolved_by: null,
      resolved_because: null
    }
    expect(await ani.all("/image-reviews", 2)).toEqual(images.map((request_id) => ({ ...open, request_id })))

    const reason = "delivered by email"
    const charge = (id: string, amount_usd_micro: string) =>
      ani.post(`/image-reviews/${id}/charge`, { amount_usd_micro, reason })
    const resolved = { resolved_at: TIME, resolved_by: "ani", resolved_because: reason }
    const charged = { ...open, ...resolved, request_id: first, resolution: "charged", charged_usd_micro: "400000" }
    const payg = { currency: "USD", balance: "0.600000", balance_usd_micro: "600000" }
    expect((await charge(first, "400000")).body).toEqual({ ...charged, payg })
    expect(refusalIn(await charge(first, "400000"))).toBe("409 review_resolved")
    expect(refusalIn(await charge(second, "600001"))).toBe("402 insufficient_balance")
    expect(pathsIn(await charge(second, "0"))).toEqual(["amount_usd_micro"])
    expect(refusalIn(await charge(UNKNOWN_ID, "1"))).toBe("404 review_not_found")
    expect(refusalIn(await charge("nothing", "1"))).toBe("404 review_not_found")

    const waived = { ...open, ...resolved, request_id: second.toLowerCase(), resolution: "waived" }
    expect((await ani.post(`/image-reviews/${second.toUpperCase()}/waive`, { reason })).body).toEqual(waived)
    expect(refusalIn(await ani.post(`/image-reviews/${second}/waive`, { reason }))).toBe("409 review_resolved")
    expect(pathsIn(await ani.post(`/image-reviews/${third}/waive`, {}))).toEqual(["reason"])
    expect(await ani.all("/image-reviews?state=waiting", 50)).toEqual([{ ...open, request_id: third }])
    expect(await ani.all("/image-reviews?state=all", 2)).toEqual(await printed("images", "review", "list", "--all"))
    expect(await audited(first)).toEqual([{ actor: "ani", action: "image.charge", reason }])
  })
})
