import { it } from "@effect/vitest"
import * as Midtrans from "@tollgate/adapters-upstream/topup/midtrans/Midtrans"
import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { json, resetImmediately } from "../../../support/upstream/Script.ts"
import { anAccount, aRupiahIntent, ORDER_NUMBER, OTHER_NUMBER, quiet } from "../Payments.ts"
import { describeFaults } from "../ProviderFaults.ts"
import { aQrisCode } from "../QrisCode.ts"
import { aCharge, anError, aTransaction, FRAMED_PICTURE, PICTURE, TRANSACTION_ID } from "./MidtransWires.ts"

const intent = aRupiahIntent("qris")

const settings = (
  parts: Partial<Midtrans.MidtransSettings> & { readonly baseUrl: string }
): Midtrans.MidtransSettings => ({
  ...anAccount(parts),
  serverKey: Redacted.make("SB-Mid-server-abc"),
  acquirer: "gopay",
  ...parts
})

const withMidtrans = (parts: Partial<Midtrans.MidtransSettings> = {}) =>
  Effect.gen(function* () {
    const upstream = yield* ScriptedUpstream.scoped({ basePath: "" })
    const provider = yield* Midtrans.make(settings({ baseUrl: upstream.baseUrl, ...parts }))
    return { upstream, provider }
  })

const opened = {
  providerPaymentId: TRANSACTION_ID,
  instructions: { _tag: "Qris", qrContent: aQrisCode(105_000n), qrImageUrl: PICTURE.url },
  expiresAt: new Date("2026-11-20T04:45:00.000Z"),
  state: {}
} as const

describe("a payment", () => {
  it.scopedLive("is created with its amount and order number", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      upstream.next(json(aCharge()))
      expect(yield* provider.open(intent)).toEqual(opened)
      const [request] = upstream.requests
      expect([request?.method, request?.path]).toEqual(["POST", "/v2/charge"])
      expect(request?.headers).toMatchObject({
        authorization: `Basic ${Buffer.from("SB-Mid-server-abc:").toString("base64")}`,
        "idempotency-key": ORDER_NUMBER,
        "x-override-notification": "https://tollgate.example/webhooks/payments/here"
      })
      expect(request?.body.toString()).toContain('"gross_amount":105000}')
      expect(request?.json()).toEqual({
        payment_type: "qris",
        transaction_details: { order_id: ORDER_NUMBER, gross_amount: 105_000 },
        qris: { acquirer: "gopay" },
        custom_expiry: { expiry_duration: 15, unit: "minute" }
      })
    })
  )

  it.scopedLive("shows the framed image if it exists", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      const pictureFor = (actions: unknown) => {
        upstream.next(json(aCharge({ actions })))
        return Effect.map(provider.open(intent), ({ instructions }) =>
          instructions._tag === "Qris" ? instructions.qrImageUrl : instructions
        )
      }
      expect(yield* pictureFor([PICTURE, FRAMED_PICTURE])).toBe(FRAMED_PICTURE.url)
      expect(yield* pictureFor([])).toBeUndefined()
      expect(yield* pictureFor(undefined)).toBeUndefined()
      expect(yield* pictureFor([{ ...PICTURE, url: "http://example.com/qr" }])).toBeUndefined()
      expect(yield* pictureFor([{ ...PICTURE, url: "javascript:alert(1)" }])).toBeUndefined()
      expect(yield* pictureFor([{ ...PICTURE, url: `${upstream.baseUrl}/qr` }])).toBe(`${upstream.baseUrl}/qr`)
    })
  )

  it.scopedLive("expires after the requested time if Midtrans reports no expiry time", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans({ expiryMinutes: 20 })
      upstream.next(json(aCharge({ expiry_time: undefined })))
      expect((yield* provider.open(intent)).expiresAt).toEqual(new Date("2026-11-20T04:50:00.000Z"))
    })
  )

  const unusable: ReadonlyArray<readonly [string, object]> = [
    ["without a QRIS code", { qr_string: undefined }],
    ["with a QRIS code that cannot be scanned", { qr_string: `${aQrisCode(105_000n).slice(0, -4)}0000` }],
    ["with a QRIS code for another amount", { qr_string: aQrisCode(100_000n) }],
    ["of another amount", { gross_amount: "100000.00" }],
    ["with an id that cannot be stored", { transaction_id: "a\0b" }],
    ["of another order", { order_id: OTHER_NUMBER }],
    ["in another currency", { currency: "USD" }],
    ["with the status `deny`", { transaction_status: "deny" }]
  ]
  for (const [what, parts] of unusable) {
    it.scopedLive(`${what} fails ambiguously`, () =>
      Effect.gen(function* () {
        const { upstream, provider } = yield* withMidtrans()
        upstream.next(json(aCharge(parts)))
        const failure = yield* Effect.flip(provider.open(intent))
        expect(failure).toMatchObject({ kind: "bad_response", ambiguous: true })
        expect(failure.detail).toMatch(/^the payment was created, but /)
      })
    )
  }

  it.scopedLive("fails ambiguously after a conflict", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      upstream.next(resetImmediately, json(anError("406", "The request could not be completed due to a conflict"), 200))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "rejected", ambiguous: true })
      const keys = upstream.requests.map(({ headers }) => headers["idempotency-key"])
      expect(keys).toEqual([ORDER_NUMBER, ORDER_NUMBER])

      upstream.next(json(anError("406", "The request could not be completed due to a conflict"), 406))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "rejected", ambiguous: true })
    })
  )

  it.scopedLive("fails with AmountRejected for a refused amount", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      const invalid = (message: string) =>
        anError("400", "One or more parameters in the payload is invalid.", { validation_messages: [message] })
      upstream.next(json(invalid("transaction_details.gross_amount must be less than 10000000")))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ _tag: "AmountRejected" })
      upstream.next(json(invalid("qris.acquirer is not supported"), 400))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "rejected", ambiguous: false })
    })
  )
})

describe("the status of a payment", () => {
  it.scopedLive("is compared with the order", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      const refresh = (parts: object) => {
        upstream.next(json(aTransaction(parts)))
        return provider.refresh(intent, opened)
      }
      expect(yield* refresh({ transaction_status: "settlement", settlement_time: "2026-11-20 11:31:12" })).toEqual({
        _tag: "Paid",
        paidAt: new Date("2026-11-20T04:31:12.000Z"),
        received: undefined
      })
      expect(yield* refresh({ status_code: "407", transaction_status: "expire" })).toMatchObject({ _tag: "Expired" })
      expect(yield* refresh({ transaction_status: "settlement", gross_amount: "1000.00" })).toMatchObject({
        _tag: "Suspicious"
      })
      expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
        Array.from({ length: 3 }, () => `GET /v2/${ORDER_NUMBER}/status`)
      )
    })
  )

  it.scopedLive("is read as pending if it is unknown", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      upstream.next(json(aTransaction({ transaction_status: "brand_new" })))
      expect(yield* provider.refresh(intent, opened)).toMatchObject({ _tag: "Pending" })
    }).pipe(quiet)
  )
})

describe("a cancellation", () => {
  it.scopedLive("succeeds if the payment does not exist or cannot be cancelled", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      upstream.next(
        json(aTransaction({ transaction_status: "cancel" })),
        json(anError("404", "Transaction doesn't exist.")),
        json(anError("412", "Merchant cannot modify the status of the transaction"))
      )
      for (let i = 0; i < 3; i++) yield* provider.cancel?.(intent) ?? Effect.die("the provider has no cancellation")
      expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
        Array.from({ length: 3 }, () => `POST /v2/${ORDER_NUMBER}/cancel`)
      )
    })
  )
})

describe("a probe", () => {
  it.scopedLive("fails with an unknown key", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withMidtrans()
      upstream.next(json(anError("404", "Transaction doesn't exist.")))
      yield* provider.probe
      upstream.next(json(anError("401", "Unknown Merchant server_key/id")))
      expect(yield* Effect.flip(provider.probe)).toMatchObject({ kind: "unauthorized" })
    })
  )
})

describe("the label of the provider", () => {
  it.scopedLive("distinguishes production, sandbox and simulator", () =>
    Effect.gen(function* () {
      const labelled = (baseUrl: string, atSimulator: boolean) =>
        Effect.map(Midtrans.make(settings({ baseUrl, atSimulator })), ({ label, simulated }) => [label, simulated])
      expect(yield* labelled("https://api.midtrans.com", false)).toEqual(["midtrans", false])
      expect(yield* labelled("https://api.sandbox.midtrans.com", false)).toEqual(["midtrans-sandbox", true])
      expect(yield* labelled("http://127.0.0.1:4010/midtrans", true)).toEqual(["midtrans-simulator", true])
    })
  )
})

describeFaults({
  make: (baseUrl, limits) => Midtrans.make(settings({ baseUrl, limits })),
  intent,
  opened,
  bodyErrors: [
    ["an unknown order", anError("404", "Transaction doesn't exist."), "rejected"],
    ["an unknown server key", anError("401", "Unknown Merchant server_key/id"), "unauthorized"],
    ["a payment channel that is not activated", anError("402", "Payment channel is not activated."), "rejected"],
    ["too many requests", anError("429", "API rate limit exceeded"), "rate_limited"],
    [
      "an internal error of Midtrans",
      anError("500", "Sorry. Our system is recovering from unexpected issues."),
      "server_error"
    ],
    ["a request that is not finished", anError("202", "The request is being processed"), "bad_response"]
  ]
})
