import { it } from "@effect/vitest"
import * as Tripay from "@tollgate/adapters-upstream/topup/tripay/Tripay"
import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { json } from "../../../support/upstream/Script.ts"
import { anAccount, aRupiahIntent, ORDER_NUMBER, OTHER_NUMBER, quiet } from "../Payments.ts"
import { describeFaults } from "../ProviderFaults.ts"
import { aQrisCode } from "../QrisCode.ts"
import { aChannel, aTransaction, PAGE, REFERENCE, refusal, success } from "./TripayWires.ts"

const intent = aRupiahIntent("hosted_qris", 50_000n)

const settings = (parts: Partial<Tripay.TripaySettings> & { readonly baseUrl: string }): Tripay.TripaySettings => ({
  ...anAccount(parts),
  apiKey: Redacted.make("DEV-api-key"),
  privateKey: Redacted.make("private-key"),
  merchantCode: "T0001",
  channel: "QRIS2",
  returnUrl: undefined,
  ...parts
})

const withTripay = (parts: Partial<Tripay.TripaySettings> = {}, basePath = "/api") =>
  Effect.gen(function* () {
    const upstream = yield* ScriptedUpstream.scoped({ basePath })
    const provider = yield* Tripay.make(settings({ baseUrl: upstream.baseUrl, ...parts }))
    return { upstream, provider }
  })

const opened = {
  providerPaymentId: REFERENCE,
  instructions: { _tag: "HostedQris", qrContent: aQrisCode(50_000n), paymentUrl: PAGE },
  expiresAt: new Date(1_795_150_000_000),
  state: {}
} as const

describe("a payment", () => {
  it.scopedLive("is created with its amount, order number and signature", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay({ returnUrl: "https://tollgate.example/done" })
      upstream.next(json(success(aTransaction())))
      expect(yield* provider.open(intent)).toEqual(opened)
      const [request] = upstream.requests
      expect([request?.method, request?.path]).toEqual(["POST", "/api/transaction/create"])
      expect(request?.headers.authorization).toBe("Bearer DEV-api-key")
      expect(request?.json()).toEqual({
        method: "QRIS2",
        merchant_ref: ORDER_NUMBER,
        amount: 50_000,
        customer_name: "Toko Sumber Jaya",
        customer_email: "owner@toko.example",
        order_items: [{ sku: "TOPUP", name: "Quota top-up", price: 50_000, quantity: 1 }],
        callback_url: "https://tollgate.example/webhooks/payments/here",
        return_url: "https://tollgate.example/done",
        expired_time: Date.parse("2026-11-20T04:45:00Z") / 1_000,
        signature: "02e6d4f883360a506df5b75b1b466895cb4686473ff7d444e993d5ef8b6de97e"
      })
    })
  )

  it.scopedLive("is created with a name that is cut between two characters", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      upstream.next(json(success(aTransaction())))
      yield* provider.open({ ...intent, payer: { ...intent.payer, name: `${"a".repeat(99)}🙂🙂` } })
      expect(upstream.requests[0]?.json()).toMatchObject({ customer_name: `${"a".repeat(99)}🙂` })
    })
  )

  it.scopedLive("is not requested again after a response with the status 503", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      upstream.always(json({}, 503))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "server_error", ambiguous: true })
      expect(upstream.requests.length).toBe(1)
    })
  )

  it.scopedLive("fails if the payer would pay a fee", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      upstream.next(json(success(aTransaction({ amount: 51_100, fee_customer: 1_100, fee_merchant: 0 }))))
      const failure = yield* Effect.flip(provider.open(intent))
      expect(failure).toMatchObject({ kind: "bad_response", ambiguous: true })
      expect(failure.detail).toContain("the payer pays the fee of the Tripay channel")
    })
  )

  const unusable: ReadonlyArray<readonly [string, object]> = [
    ["without a QRIS code", { qr_string: null }],
    ["with a QRIS code that cannot be scanned", { qr_string: "SANDBOX MODE" }],
    ["with a QRIS code for another amount", { qr_string: aQrisCode(51_100n) }],
    ["of another amount", { amount: 51_100 }],
    ["with an id that cannot be stored", { reference: "a\0b" }],
    ["of another order", { merchant_ref: OTHER_NUMBER }],
    ["that has already expired", { status: "EXPIRED" }],
    ["with a payment page whose URL is not allowed", { checkout_url: "http://tripay.example/checkout" }],
    ["without an expiry time", { expired_time: null }]
  ]
  for (const [what, parts] of unusable) {
    it.scopedLive(`${what} fails ambiguously`, () =>
      Effect.gen(function* () {
        const { upstream, provider } = yield* withTripay()
        upstream.next(json(success(aTransaction(parts))))
        expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "bad_response", ambiguous: true })
      })
    )
  }

  it.scopedLive("is accepted in the sandbox without a real QRIS code", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay({ atSimulator: false }, "/api-sandbox")
      upstream.next(json(success(aTransaction({ qr_string: "SANDBOX MODE" }))))
      const { instructions } = yield* provider.open(intent)
      expect(instructions).toEqual({ _tag: "HostedQris", qrContent: "SANDBOX MODE", paymentUrl: PAGE })
      expect([provider.label, provider.simulated]).toEqual(["tripay-sandbox", true])
    })
  )

  it.scopedLive("fails with AmountRejected for a refused amount", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      for (const message of ["Minimum amount for this channel is Rp 1.000", "Jumlah maksimal adalah Rp 5.000.000"]) {
        upstream.next(json(refusal(message), 400))
        expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ _tag: "AmountRejected" })
      }
      upstream.next(json(refusal("The amount must be an integer"), 400))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "rejected", ambiguous: false })
    })
  )
})

describe("the status of a payment", () => {
  it.scopedLive("is compared with the order", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      const refresh = (parts: object) => {
        upstream.next(json(success(aTransaction(parts))))
        return provider.refresh(intent, opened)
      }
      const paid = { _tag: "Paid", paidAt: new Date(1_795_149_000_000), received: undefined }
      expect(yield* refresh({ status: "PAID", paid_at: "1795149000" })).toEqual(paid)
      expect(yield* refresh({ status: "PAID", paid_at: 1_795_149_000 })).toEqual(paid)
      expect(yield* refresh({ status: "PAID", paid_at: null })).toEqual({ ...paid, paidAt: undefined })
      expect(yield* refresh({ status: "PAID", amount: 1_000 })).toMatchObject({ _tag: "Suspicious" })
      expect(upstream.requests[0]?.path).toBe(`/api/transaction/detail?reference=${REFERENCE}`)
    })
  )

  it.scopedLive("is read as pending if it is unknown", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      upstream.next(json(success(aTransaction({ status: "BRAND_NEW" }))))
      expect(yield* provider.refresh(intent, opened)).toMatchObject({ _tag: "Pending" })
      upstream.next(json(success(aTransaction({ status: "REFUND" }))))
      expect(yield* provider.refresh(intent, opened)).toMatchObject({ _tag: "Refunded", reason: "refunded" })
    }).pipe(quiet)
  )
})

describe("a probe", () => {
  it.scopedLive("succeeds only for an active channel without a fee of the payer", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withTripay()
      upstream.next(json(success([aChannel({ code: "QRIS" }), aChannel()])))
      yield* provider.probe
      expect(upstream.requests[0]?.path).toBe("/api/merchant/payment-channel?code=QRIS2")

      const wrong = [[], [aChannel({ active: false })], [aChannel({ fee_customer: { flat: 0, percent: "0.70" } })]]
      for (const channels of wrong) {
        upstream.next(json(success(channels)))
        expect(yield* Effect.flip(provider.probe)).toMatchObject({ kind: "rejected" })
      }
      upstream.next(json(refusal("Invalid API Key")))
      expect(yield* Effect.flip(provider.probe)).toMatchObject({ kind: "unauthorized" })
    })
  )
})

describeFaults({
  make: (baseUrl, limits) => Tripay.make(settings({ baseUrl, limits })),
  intent,
  opened,
  bodyErrors: [
    ["an unknown API key", refusal("Invalid API Key"), "unauthorized"],
    ["an invalid signature", refusal("Invalid signature"), "unauthorized"],
    ["an IP address that is not whitelisted", refusal("Unauthorized IP, please whitelist your IP"), "unauthorized"],
    ["an unknown payment", refusal("Transaction not found"), "rejected"],
    ["a success without data", success(null), "bad_response"]
  ]
})
