import { createHmac } from "node:crypto"
import { it } from "@effect/vitest"
import { SIMULATED_TRIPAY } from "@tollgate/simulators/topup/tripay/TripaySimulator"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { jsonOf, listOf, startedSimulator, startWebhookReceiver, textOf } from "../../../support/SimulatedPayments.ts"

const authorization = { authorization: `Bearer ${SIMULATED_TRIPAY.apiKey}` }
const ORDER = "RTO-0b54f9b2-4bb8-4b4e-8a05-1f2e3d4c5b6a"
const hmac = (text: string) => createHmac("sha256", SIMULATED_TRIPAY.privateKey).update(text).digest("hex")
const aTransaction = (differences: object = {}, amount = 50_000) => ({
  method: "QRIS2",
  merchant_ref: ORDER,
  amount,
  customer_name: "A <b>reseller</b>",
  customer_email: "reseller@example.com",
  order_items: [{ sku: "TOPUP", name: "Quota top-up", price: amount, quantity: 1 }],
  return_url: "http://127.0.0.1:8080/",
  expired_time: Math.floor(Date.now() / 1_000) + 3_600,
  signature: hmac(`${SIMULATED_TRIPAY.merchantCode}${ORDER}${amount}`),
  ...differences
})

const opened = (differences: object = {}) =>
  Effect.gen(function* () {
    const simulator = yield* startedSimulator()
    const { body } = yield* simulator.post("/tripay/transaction/create", aTransaction(differences), authorization)
    const detail = Effect.map(
      simulator.get(`/tripay/transaction/detail?reference=${body.data?.reference}`, authorization),
      ({ body }) => body.data ?? {}
    )
    return { simulator, created: body.data ?? {}, detail }
  })

describe("the simulated API of Tripay", () => {
  it.scopedLive("responds to a new payment with a QRIS code and a page", () =>
    Effect.gen(function* () {
      const { created, detail, simulator } = yield* opened()
      expect(created).toMatchObject({
        merchant_ref: ORDER,
        payment_method: "QRIS2",
        amount: 50_000,
        fee_merchant: 1_100,
        fee_customer: 0,
        amount_received: 48_900,
        status: "UNPAID"
      })
      expect(created.qr_string).toMatch(/^000201010212.*540550000.*6304[0-9A-F]{4}$/)
      expect(created.expired_time).toBeGreaterThan(Date.now() / 1_000)
      expect(yield* detail).toEqual({ ...created, paid_at: null })
      const page = yield* simulator.get(textOf(created.checkout_url).replace(simulator.baseUrl, ""))
      expect(page.headers.get("content-type")).toContain("text/html")
      expect(page.text).toContain("not real")
      expect(page.text).toContain(created.qr_url)
      expect(page.text).toContain(`action="/pay/${created.reference}"`)
      const picture = yield* simulator.get(textOf(created.qr_url).replace(simulator.baseUrl, ""))
      expect(picture.headers.get("content-type")).toBe("image/svg+xml")
    })
  )

  it.scopedLive("responds with `success` false to invalid credentials and fields", () =>
    Effect.gen(function* () {
      const { simulator } = yield* opened()
      const refusal = (body: unknown, headers: Record<string, string> = authorization) =>
        Effect.map(simulator.post("/tripay/transaction/create", body, headers), ({ body }) => {
          expect(body.success).toBe(false)
          return body.message
        })
      expect(yield* refusal(aTransaction(), { authorization: "Bearer other" })).toBe("Invalid API Key")
      expect(yield* refusal(aTransaction({ signature: hmac("other") }))).toBe("Invalid signature")
      expect(yield* refusal(aTransaction({}, 999))).toContain("Minimum amount")
      expect(yield* refusal(aTransaction({}, 5_000_001))).toContain("Maximum amount")
      expect(yield* refusal(aTransaction({ order_items: [] }))).toContain("order items")
      expect(yield* refusal(aTransaction({ customer_email: "" }))).toContain("email")
      expect(yield* refusal(aTransaction({ expired_time: 1 }))).toContain("future")
      expect(yield* refusal(aTransaction({ method: "BRIVA" }))).toContain("channel")
      const unknown = yield* simulator.get("/tripay/transaction/detail?reference=T1", authorization)
      expect(unknown.body.success).toBe(false)
    })
  )

  it.scopedLive("shows expiry, failure and payment in the detail response", () =>
    Effect.gen(function* () {
      const { created, detail, simulator } = yield* opened()
      yield* simulator.post(`/expire/${ORDER}`)
      expect((yield* detail).status).toBe("EXPIRED")
      yield* simulator.post(`/fail/${ORDER}`)
      expect((yield* detail).status).toBe("FAILED")
      expect((yield* simulator.post(`/underpay/${ORDER}`)).status).toBe(409)
      yield* simulator.post(`/pay/${created.reference}`)
      const paid = yield* detail
      expect(paid).toMatchObject({ status: "PAID", amount: 50_000 })
      expect(paid.paid_at).toMatch(/^\d{10}$/)
      const check = yield* simulator.get(
        `/tripay/transaction/check-status?reference=${created.reference}`,
        authorization
      )
      expect(check.body).toMatchObject({ success: true, message: expect.stringContaining("PAID") })
      const list = yield* simulator.get(`/tripay/merchant/transactions?merchant_ref=${ORDER}`, authorization)
      expect(list.body.data).toHaveLength(1)
      expect(listOf(list.body.data)[0]?.paid_at).toBe(Number(paid.paid_at))
    })
  )

  it.scopedLive("reports an active channel whose fee the customer does not pay", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const { body } = yield* simulator.get("/tripay/merchant/payment-channel?code=QRIS2", authorization)
      expect(body.data).toMatchObject([{ code: "QRIS2", active: true, fee_customer: { flat: 0, percent: 0 } }])
    })
  )

  it.scopedLive("signs the bytes of its webhooks", () =>
    Effect.gen(function* () {
      const receiver = yield* startWebhookReceiver()
      const { created, simulator } = yield* opened({ callback_url: `${receiver.url}/callback` })
      yield* simulator.post(`/pay/${ORDER}`)
      const [webhook] = receiver.webhooks
      expect(webhook?.headers["x-callback-event"]).toBe("payment_status")
      expect(webhook?.headers["x-callback-signature"]).toBe(hmac(webhook?.body ?? ""))
      const notification = jsonOf(webhook?.body ?? "")
      expect(notification).toMatchObject({
        reference: created.reference,
        merchant_ref: ORDER,
        payment_method_code: "QRIS2",
        total_amount: 50_000,
        is_closed_payment: 1,
        status: "PAID"
      })
      expect(notification.paid_at).toBeTypeOf("number")
    })
  )
})
