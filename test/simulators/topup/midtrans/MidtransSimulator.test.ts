import { createHash } from "node:crypto"
import { it } from "@effect/vitest"
import { SIMULATED_MIDTRANS } from "@tollgate/simulators/topup/midtrans/MidtransSimulator"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { jsonOf, listOf, startedSimulator, startWebhookReceiver, textOf } from "../../../support/SimulatedPayments.ts"

const authorization = { authorization: `Basic ${Buffer.from(`${SIMULATED_MIDTRANS.serverKey}:`).toString("base64")}` }
const ORDER = "RTO-6e1f3a52-8a4c-4a58-9a39-0a3f0a5d7b11"
const aCharge = (differences: object = {}) => ({
  payment_type: "qris",
  transaction_details: { order_id: ORDER, gross_amount: 105_000 },
  qris: { acquirer: "gopay" },
  custom_expiry: { expiry_duration: 15, unit: "minute" },
  ...differences
})
const ofAmount = (gross_amount: unknown) => aCharge({ transaction_details: { order_id: ORDER, gross_amount } })

const opened = (headers: Record<string, string> = {}, charge: object = aCharge()) =>
  Effect.gen(function* () {
    const simulator = yield* startedSimulator()
    const { body } = yield* simulator.post("/midtrans/v2/charge", charge, { ...authorization, ...headers })
    const status = Effect.map(simulator.get(`/midtrans/v2/${ORDER}/status`, authorization), ({ body }) => body)
    return { simulator, charged: body, status }
  })

describe("the simulated API of Midtrans", () => {
  it.scopedLive("responds to a charge with a QRIS code and an image", () =>
    Effect.gen(function* () {
      const before = Date.now()
      const { charged, simulator } = yield* opened()
      expect(charged).toMatchObject({
        status_code: "201",
        order_id: ORDER,
        gross_amount: "105000.00",
        currency: "IDR",
        payment_type: "qris",
        transaction_status: "pending",
        fraud_status: "accept",
        acquirer: "gopay"
      })
      const made = Date.parse(`${textOf(charged.transaction_time).replace(" ", "T")}+07:00`)
      expect(made).toBeGreaterThan(before - 1_000)
      expect(Date.parse(`${textOf(charged.expiry_time).replace(" ", "T")}+07:00`) - made).toBe(15 * 60_000)
      expect(charged.qr_string).toMatch(/^000201010212.*5406105000.*6304[0-9A-F]{4}$/)
      const actions = listOf(charged.actions)
      expect(actions.map(({ name }) => name)).toEqual(["generate-qr-code", "generate-qr-code-v2"])
      for (const { url } of actions) {
        const picture = yield* simulator.get(textOf(url).replace(simulator.baseUrl, ""))
        expect(picture.headers.get("content-type")).toBe("image/svg+xml")
        expect(picture.headers.get("x-payment-simulator")).toBe("true")
        expect(picture.text).toContain("<svg")
      }
    })
  )

  it.scopedLive("reports failures with HTTP 200, except a wrong server key", () =>
    Effect.gen(function* () {
      const { simulator } = yield* opened()
      const charge = (body: unknown, headers = {}) =>
        simulator.post("/midtrans/v2/charge", body, { ...authorization, ...headers })
      const unknown = yield* simulator.get("/midtrans/v2/RTO-unknown/status", authorization)
      expect([unknown.status, unknown.body.status_code]).toEqual([200, "404"])
      const repeated = yield* charge(aCharge())
      expect([repeated.status, repeated.body.status_code]).toEqual([200, "406"])
      for (const amount of [10_000_001, 0, 1.5, "x", undefined]) {
        const { body, status } = yield* charge(ofAmount(amount))
        expect([status, body.status_code]).toEqual([200, "400"])
        expect(listOf(body.validation_messages)[0]).toContain("amount")
      }
      expect((yield* charge("no JSON")).body.status_code).toBe("400")
      const unauthorized = yield* charge(aCharge(), { authorization: "Basic bm9ib2R5Og==" })
      expect([unauthorized.status, unauthorized.body.status_code]).toEqual([401, "401"])
    })
  )

  it.scopedLive("repeats its response for the same idempotency key", () =>
    Effect.gen(function* () {
      const { charged, simulator } = yield* opened({ "idempotency-key": ORDER })
      const again = yield* simulator.post("/midtrans/v2/charge", aCharge(), {
        ...authorization,
        "idempotency-key": ORDER
      })
      expect(again.body).toEqual(charged)
    })
  )

  it.scopedLive("shows expiry, failure and payment in the status", () =>
    Effect.gen(function* () {
      const { charged, simulator, status } = yield* opened()
      expect(yield* status).toMatchObject({ status_code: "201", transaction_status: "pending" })
      yield* simulator.post(`/expire/${ORDER}`)
      expect(yield* status).toMatchObject({ status_code: "407", transaction_status: "expire" })
      yield* simulator.post(`/fail/${ORDER}`)
      expect(yield* status).toMatchObject({ transaction_status: "deny" })
      const paid = yield* simulator.post(`/pay/${ORDER}`)
      expect(paid.body).toMatchObject({ order_number: ORDER, status: "paid", due: "105000", received: "105000" })
      const settled = yield* status
      expect(settled).toMatchObject({ status_code: "200", transaction_status: "settlement", gross_amount: "105000.00" })
      expect(settled.transaction_id).toBe(charged.transaction_id)
      expect(settled.settlement_time).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      expect((yield* simulator.post(`/expire/${ORDER}`)).status).toBe(409)
    })
  )

  it.scopedLive("accepts no other amount than the amount due", () =>
    Effect.gen(function* () {
      const { simulator, status } = yield* opened()
      for (const action of ["underpay", "overpay"]) {
        const refused = yield* simulator.post(`/${action}/${ORDER}`)
        expect(refused.status).toBe(409)
        expect(refused.body.error?.message).toContain("exactly")
      }
      expect(yield* status).toMatchObject({ transaction_status: "pending" })
    })
  )

  it.scopedLive("refuses to pay a cancelled payment", () =>
    Effect.gen(function* () {
      const { simulator, status } = yield* opened()
      const cancel = Effect.map(
        simulator.post(`/midtrans/v2/${ORDER}/cancel`, undefined, authorization),
        ({ body }) => body.status_code
      )
      expect(yield* cancel).toBe("200")
      expect(yield* status).toMatchObject({ transaction_status: "cancel" })
      expect(yield* cancel).toBe("412")
      expect((yield* simulator.post(`/pay/${ORDER}`)).status).toBe(409)
    })
  )

  it.scopedLive("expires a payment at its expiry time", () =>
    Effect.gen(function* () {
      const { status } = yield* opened({}, aCharge({ custom_expiry: { expiry_duration: 0, unit: "minute" } }))
      expect(yield* status).toMatchObject({ transaction_status: "expire" })
    })
  )

  it.scopedLive("sends a signed webhook to the URL in a header of the charge", () =>
    Effect.gen(function* () {
      const receiver = yield* startWebhookReceiver()
      const { simulator, status } = yield* opened({
        "x-override-notification": `${receiver.url}/webhook, http://other/`
      })
      const paid = yield* simulator.post(`/pay/${ORDER}`)
      expect(paid.body.webhook).toEqual({ url: `${receiver.url}/webhook`, status: 200 })
      const [webhook] = receiver.webhooks
      const notification = jsonOf(webhook?.body ?? "")
      const { order_id, status_code, gross_amount, signature_key } = notification
      expect(webhook?.path).toBe("/webhook")
      expect(notification).toMatchObject({
        order_id: ORDER,
        transaction_status: "settlement",
        gross_amount: "105000.00"
      })
      expect(signature_key).toBe(
        createHash("sha512")
          .update(`${order_id}${status_code}${gross_amount}${SIMULATED_MIDTRANS.serverKey}`)
          .digest("hex")
      )
      expect((yield* status).signature_key).toBe(signature_key)
    })
  )
})
