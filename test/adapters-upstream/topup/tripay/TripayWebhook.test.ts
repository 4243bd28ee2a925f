import * as TripayWebhook from "@tollgate/adapters-upstream/topup/tripay/TripayWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { Effect, Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { ORDER_NUMBER } from "../Payments.ts"
import { REFERENCE } from "./TripayWires.ts"

const KEY = Redacted.make("private-key")
const webhook = TripayWebhook.make("tripay", KEY)
const verify = (body: Uint8Array, signature: string | undefined) =>
  Effect.runSync(Effect.either(webhook.verify({ "x-callback-signature": signature }, body)))
const refused = Either.left(new BadSignature({ provider: "tripay" }))

const aNotification = (parts: object = {}) => ({
  reference: REFERENCE,
  merchant_ref: ORDER_NUMBER,
  payment_method: "QRIS",
  payment_method_code: "QRIS2",
  total_amount: 50_000,
  fee_merchant: 1_100,
  fee_customer: 0,
  total_fee: 1_100,
  amount_received: 48_900,
  is_closed_payment: 1,
  status: "PAID",
  paid_at: 1_795_149_000,
  note: null,
  ...parts
})
const bytesOf = (notification: unknown) => Buffer.from(JSON.stringify(notification))
const signatureOf = (body: Uint8Array, key = KEY) => TripayWebhook.webhookSignature(body, key).toString("hex")

describe("the signature of a payment", () => {
  it("equals the example that Tripay publishes", () => {
    const key = Redacted.make("ytf6ooi2gmlNPfpchd94jDOk8hRWOu")
    expect(TripayWebhook.paymentSignature("T0001", "INV55567", Idr(1_500_000n), key)).toBe(
      "9f167eba844d1fcb369404e2bda53702e2f78f7aa12e91da6715414e65b8c86a"
    )
  })
})

describe("a webhook", () => {
  it("is accepted with a valid signature", () => {
    const body = bytesOf(aNotification())
    expect(verify(body, signatureOf(body))).toEqual(Either.right({ orderNumber: ORDER_NUMBER, paid: true }))
    expect(webhook.acknowledgement).toEqual({ success: true })
  })

  it("is verified with the exact bytes of its body", () => {
    const body = bytesOf(aNotification())
    const spaced = Buffer.from(JSON.stringify(aNotification(), null, 2))
    expect(verify(spaced, signatureOf(spaced))).toEqual(Either.right({ orderNumber: ORDER_NUMBER, paid: true }))
    expect(verify(spaced, signatureOf(body))).toEqual(refused)
  })

  it("is refused without a valid signature", () => {
    const body = bytesOf(aNotification())
    const signature = signatureOf(body)
    const others = [undefined, "", signature.slice(2), `${signature}00`, `zz${signature.slice(2)}`, "0".repeat(64)]
    for (const other of others) expect(verify(body, other)).toEqual(refused)
    expect(verify(body, signatureOf(body, Redacted.make("another-key")))).toEqual(refused)
  })

  it("is accepted with a signature in upper case", () => {
    const body = bytesOf(aNotification())
    expect(verify(body, signatureOf(body).toUpperCase())).toEqual(
      Either.right({ orderNumber: ORDER_NUMBER, paid: true })
    )
  })

  it("is accepted without a known order number if it is signed", () => {
    const others: ReadonlyArray<readonly [unknown, object]> = [
      [aNotification({ merchant_ref: "INV1" }), { orderNumber: "INV1", paid: true }],
      [aNotification({ status: "EXPIRED" }), { orderNumber: ORDER_NUMBER }],
      [aNotification({ status: undefined }), { orderNumber: ORDER_NUMBER }],
      [aNotification({ merchant_ref: null }), {}],
      [null, {}],
      [[], {}]
    ]
    for (const [notification, reported] of others) {
      const body = bytesOf(notification)
      expect(verify(body, signatureOf(body))).toEqual(Either.right(reported))
      expect(verify(body, "0".repeat(64))).toEqual(refused)
    }
    const garbage = Buffer.from([0xff, 0x00, 0x7b])
    expect(verify(garbage, signatureOf(garbage))).toEqual(Either.right({}))
  })
})
