import { createHmac } from "node:crypto"
import * as NowPaymentsWebhook from "@tollgate/adapters-upstream/topup/nowpayments/NowPaymentsWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Either, FastCheck, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"
import { ORDER_NUMBER } from "../Payments.ts"
import { aStatus } from "./NowPaymentsWires.ts"

const SECRET = "ipn-secret"
const webhook = NowPaymentsWebhook.make("nowpayments", Redacted.make(SECRET))
const verify = (text: string, signature: string | undefined) =>
  Effect.runSync(Effect.either(webhook.verify({ "x-nowpayments-sig": signature }, Buffer.from(text))))
const refused = Either.left(new BadSignature({ provider: "nowpayments" }))
const sign = (text: string, secret = SECRET) => createHmac("sha512", secret).update(text).digest("hex")

const FEE = { currency: "btc", depositFee: 0.09853637216235617, withdrawalFee: 0, serviceFee: 0 }
const notification = { ...aStatus(), payment_status: "finished", parent_payment_id: null, fee: FEE }

/** A notification, and the text that the newer signature algorithm of NOWPayments signs. */
const SMALL = `{"order_id":"${ORDER_NUMBER}","fee":{"withdrawalFee":0.5,"currency":"btc","depositFee":1e-7},"a":[{"z":1,"b":2}]}`
const SMALL_IN_ORDER = `{"a":[{"b":2,"z":1}],"fee":{"currency":"btc","depositFee":1e-7,"withdrawalFee":0.5},"order_id":"${ORDER_NUMBER}"}`
/** The text that the older algorithm signs. It omits members whose names occur only in nested objects. */
const SMALL_OLDER_FORM = `{"a":[{}],"fee":{},"order_id":"${ORDER_NUMBER}"}`

describe("a webhook", () => {
  it("is verified with its members sorted by name in every object", () => {
    expect(NowPaymentsWebhook.canonical(JSON.parse(SMALL))).toBe(SMALL_IN_ORDER)
    expect(verify(SMALL, sign(SMALL_IN_ORDER))).toEqual(Either.right({ orderNumber: ORDER_NUMBER }))
  })

  it("is accepted with the older signature algorithm", () => {
    expect(NowPaymentsWebhook.olderCanonical(JSON.parse(SMALL))).toBe(SMALL_OLDER_FORM)
    expect(verify(SMALL, sign(SMALL_OLDER_FORM))).toEqual(Either.right({ orderNumber: ORDER_NUMBER }))
  })

  const bodies = FastCheck.object({
    key: FastCheck.constantFrom("a", "b", "10", "9", "toString"),
    values: [FastCheck.double({ noNaN: true, noDefaultInfinity: true }), FastCheck.string(), FastCheck.constant(null)],
    maxDepth: 4
  })

  property("has the text of the older signature algorithm for every body", [bodies], (sent) => {
    const body = JSON.parse(JSON.stringify(sent))
    return NowPaymentsWebhook.olderCanonical(body) === JSON.stringify(body, Object.keys(body).sort())
  })

  it("is accepted with or without white space between its members", () => {
    const signature = sign(NowPaymentsWebhook.canonical(notification))
    const reported = Either.right({ orderNumber: ORDER_NUMBER, paid: true })
    expect(verify(JSON.stringify(notification), signature)).toEqual(reported)
    expect(verify(JSON.stringify(notification, null, 2), signature)).toEqual(reported)
  })

  it("is refused after a change or with a wrong signature", () => {
    const signature = sign(NowPaymentsWebhook.canonical(notification))
    const others = [
      { ...notification, payment_status: "waiting" },
      { ...notification, fee: { ...FEE, serviceFee: 1 } },
      { ...notification, more: 1 }
    ]
    for (const other of others) expect(verify(JSON.stringify(other), signature)).toEqual(refused)
    const text = JSON.stringify(notification)
    for (const other of [
      undefined,
      "",
      signature.slice(2),
      sign(text),
      sign(NowPaymentsWebhook.canonical(notification), "x")
    ]) {
      expect(verify(text, other)).toEqual(refused)
    }
  })

  it("is refused if it is not JSON", () => {
    for (const text of ["", "<html>", "{"]) expect(verify(text, sign(text)), text).toEqual(refused)
  })

  it("is accepted without a known order number if it is signed", () => {
    const others: ReadonlyArray<readonly [string, object]> = [
      ['{"order_id":"1"}', { orderNumber: "1" }],
      ['{"order_id":null,"payment_id":5}', {}],
      ['{"batch_withdrawal_id":"987654321","id":"123456789","status":"FINISHED"}', {}],
      ["{}", {}],
      ["null", {}],
      ['{"order_id":7}', {}],
      ['{"order_id":"1","payment_status":"partially_paid"}', { orderNumber: "1", paid: true }],
      ['{"order_id":"1","payment_status":"waiting"}', { orderNumber: "1" }],
      ['{"order_id":"1","payment_status":{}}', { orderNumber: "1" }]
    ]
    for (const [text, reported] of others) {
      expect(verify(text, sign(text)), text).toEqual(Either.right(reported))
      expect(verify(text, sign(text, "another")), text).toEqual(refused)
    }
  })

  it("reports the ids of a repeat and of its original payment", () => {
    const repeated = { ...notification, payment_id: 5_745_459_500, parent_payment_id: 5_745_459_419, order_id: null }
    expect(verify(JSON.stringify(repeated), sign(NowPaymentsWebhook.canonical(repeated)))).toEqual(
      Either.right({ paid: true, repeated: { paymentId: "5745459500", originalId: "5745459419" } })
    )
    for (const payment_id of ["../payout", 1.5, -1, {}]) {
      const odd = { ...repeated, payment_id }
      expect(verify(JSON.stringify(odd), sign(NowPaymentsWebhook.canonical(odd)))).toEqual(Either.right({}))
    }
  })

  it("is refused if it is nested too deeply", () => {
    // This text is in the order of the signature, so the signature is correct.
    const deep = `{"a":${"[".repeat(30_000)}${"]".repeat(30_000)},"order_id":"${ORDER_NUMBER}"}`
    expect(verify(deep, sign(deep))).toEqual(refused)
  })

  it("is refused with a wrong signature at every depth of nesting", () => {
    for (let depth = 500; depth <= 10_000; depth += 250) {
      const nested = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
      expect(verify(nested, "0".repeat(128)), `${depth} objects`).toEqual(refused)
    }
  })

  it("is refused with a wrong signature in little time if it has thousands of members and objects", () => {
    const objects = Array.from({ length: 10_000 }, () => "{}").join(",")
    const members = Array.from({ length: 4_000 }, (_, i) => `"m${i.toString(36)}":0`).join(",")
    const text = `{"a":[${objects}],${members}}`
    // The route refuses a longer body.
    expect(text.length).toBeLessThan(64 * 1_024)
    const before = process.cpuUsage()
    expect(verify(text, "0".repeat(128))).toEqual(refused)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(1_000)
  })

  it("cannot set inherited members of an object", () => {
    const text = `{"__proto__":{"order_id":"RTO-1"},"order_id":"${ORDER_NUMBER}"}`
    expect(verify(text, sign(text))).toEqual(Either.right({ orderNumber: ORDER_NUMBER }))
    expect(verify(`{"__proto__":{"order_id":"${ORDER_NUMBER}"}}`, sign("{}"))).toEqual(refused)
  })
})
