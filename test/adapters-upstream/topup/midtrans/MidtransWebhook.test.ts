import * as MidtransWebhook from "@tollgate/adapters-upstream/topup/midtrans/MidtransWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { ORDER_NUMBER } from "../Payments.ts"
import { aTransaction } from "./MidtransWires.ts"

const KEY = "SB-Mid-server-abc"
const webhook = MidtransWebhook.make("midtrans", Redacted.make(KEY))
const verify = (body: string) => Effect.runSync(Effect.either(webhook.verify({}, Buffer.from(body))))
const refused = Either.left(new BadSignature({ provider: "midtrans" }))

const signed = (parts: object = {}, key = KEY) => {
  const notification = aTransaction({ transaction_status: "settlement", ...parts })
  return { ...notification, signature_key: MidtransWebhook.signatureOf(notification, key).toString("hex") }
}

describe("the signature", () => {
  it("equals the example in the documentation of Midtrans", () => {
    const documented = { order_id: "1111", status_code: "200", gross_amount: "100000.00" }
    expect(MidtransWebhook.signatureOf(documented, "askvnoibnosifnboseofinbofinfgbiufglnbfg").toString("hex")).toBe(
      "edc076b21793ebe3e17926350f5b8ae67d902fe657b3d0aa31b932d5c127e2375d308a2bc94f3265ac2d80a1f181a79b" +
        "997ac178a236fcff35af263fc4d4c231"
    )
  })
})

describe("a webhook", () => {
  it("is accepted with a valid signature", () => {
    expect(verify(JSON.stringify(signed()))).toEqual(Either.right({ orderNumber: ORDER_NUMBER, paid: true }))
  })

  it("reports no payment in another status", () => {
    for (const transaction_status of ["pending", "expire", "cancel", "refund", undefined, null, {}]) {
      expect(verify(JSON.stringify(signed({ transaction_status })))).toEqual(
        Either.right({ orderNumber: ORDER_NUMBER, paid: undefined })
      )
    }
  })

  it("is verified with the digits of a JSON number as its amount", () => {
    const text = JSON.stringify(signed()).replace('"105000.00"', "105000.00")
    expect(verify(text)).toEqual(Either.right({ orderNumber: ORDER_NUMBER, paid: true }))
  })

  it("is refused after a change or with another key", () => {
    const { signature_key, ...unsigned } = signed()
    const others = [
      { ...signed(), gross_amount: "105000.0" },
      { ...signed(), status_code: "201" },
      { ...signed(), order_id: `${ORDER_NUMBER}0` },
      signed({}, "another-key"),
      signed({}, ""),
      { ...unsigned, signature_key: "" },
      { ...unsigned, signature_key: signature_key.slice(0, -2) },
      unsigned
    ]
    for (const other of others) expect(verify(JSON.stringify(other))).toEqual(refused)
  })

  it("is refused if it is not a JSON object", () => {
    for (const text of ["", "null", "[]", "<html>", "{"]) expect(verify(text)).toEqual(refused)
  })

  it("is accepted with an order id that Midtrans uses for tests", () => {
    const order_id = "payment_notif_test_G123_abc"
    expect(verify(JSON.stringify(signed({ order_id })))).toEqual(Either.right({ orderNumber: order_id, paid: true }))
    expect(verify(JSON.stringify(signed({ order_id }, "another-key")))).toEqual(refused)
  })
})
