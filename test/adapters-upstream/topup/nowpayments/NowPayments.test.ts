import { it } from "@effect/vitest"
import * as NowPayments from "@tollgate/adapters-upstream/topup/nowpayments/NowPayments"
import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { type ReceivedRequest, ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { json, type Script, script, stall } from "../../../support/upstream/Script.ts"
import { aDollarIntent, anAccount, ORDER_NUMBER, quiet } from "../Payments.ts"
import { describeFaults } from "../ProviderFaults.ts"
import { AMOUNT, aCreated, anError, aStatus, idOf } from "./NowPaymentsWires.ts"

const intent = aDollarIntent()
const COINS = ["usdttrc20", "usdtbsc", "usdcbase"]

const settings = (
  parts: Partial<NowPayments.NowPaymentsSettings> & { readonly baseUrl: string }
): NowPayments.NowPaymentsSettings => ({
  ...anAccount(parts),
  expiryMinutes: 60,
  apiKey: Redacted.make("np-key"),
  ipnSecret: Redacted.make("ipn-secret"),
  currencies: COINS,
  ...parts
})

const withNowPayments = (parts: Partial<NowPayments.NowPaymentsSettings> = {}) =>
  Effect.gen(function* () {
    const upstream = yield* ScriptedUpstream.scoped({ basePath: "" })
    const provider = yield* NowPayments.make(settings({ baseUrl: upstream.baseUrl, ...parts }))
    return { upstream, provider }
  })

const coinOf = (request: ReceivedRequest): string => (request.json() as { pay_currency: string }).pay_currency

const creating =
  (others: { readonly [code: string]: Script } = {}) =>
  (request: ReceivedRequest): Script =>
    others[coinOf(request)] ?? json(aCreated(coinOf(request)), 201)

/** Every payment is waiting, apart from the given changes. */
const statusResponses =
  (others: { readonly [code: string]: object } = {}) =>
  (request: ReceivedRequest): Script => {
    const code = COINS.find((code) => request.path === `/v1/payment/${idOf(code)}`) ?? ""
    return json(aStatus(code, others[code]))
  }

const opened = {
  providerPaymentId: COINS.map(idOf).join(","),
  instructions: {
    _tag: "Crypto",
    depositAddresses: [
      ["trx", "usdt", "TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r"] as const,
      ["bsc", "usdt", "0x1111111111111111111111111111111111111111"] as const,
      ["base", "usdc", "0x2222222222222222222222222222222222222222"] as const
    ].map(([network, tokenKind, depositAddress]) => ({
      network,
      tokenKind,
      depositAddress,
      amount: "25.000123",
      memo: undefined
    }))
  },
  expiresAt: new Date("2026-11-20T05:30:00.000Z"),
  state: { payments: COINS.map((currency) => ({ paymentId: idOf(currency), currency })) }
} as const

describe("a payment", () => {
  it.scopedLive("is opened in every coin while one reseller opens 32 payments", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.always(creating())
      const all = yield* Effect.replicateEffect(provider.open(intent), 33, { concurrency: "unbounded" })
      expect(new Set(all.map(({ providerPaymentId }) => providerPaymentId))).toEqual(
        new Set([opened.providerPaymentId])
      )
    }).pipe(quiet)
  )

  it.scopedLive("is created once per coin with one token per dollar", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.always(creating())
      expect(yield* provider.open(intent)).toEqual(opened)
      expect(upstream.requests.map(coinOf).sort()).toEqual([...COINS].sort())
      for (const request of upstream.requests) {
        expect([request.method, request.path]).toEqual(["POST", "/v1/payment"])
        expect(request.headers["x-api-key"]).toBe("np-key")
        expect(request.body.toString()).toContain(
          '"price_amount":25.000123,"price_currency":"usd","pay_amount":25.000123,'
        )
        expect(request.json()).toEqual({
          price_amount: AMOUNT,
          price_currency: "usd",
          pay_amount: AMOUNT,
          pay_currency: coinOf(request),
          order_id: ORDER_NUMBER,
          order_description: "Quota top-up",
          ipn_callback_url: "https://tollgate.example/webhooks/payments/here",
          is_fixed_rate: false,
          is_fee_paid_by_user: false
        })
      }
    })
  )

  it.scopedLive("is offered in the coins for which NOWPayments created a payment", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.always(
        creating({
          usdttrc20: json(anError(400, "AMOUNT_MINIMAL_ERROR", "Crypto amount 25 is less than minimal"), 400),
          usdcbase: json({}, 503)
        })
      )
      const { instructions, providerPaymentId, state } = yield* provider.open(intent)
      expect(instructions).toEqual({ _tag: "Crypto", depositAddresses: [opened.instructions.depositAddresses[1]] })
      expect(providerPaymentId).toBe(idOf("usdtbsc"))
      expect(state).toEqual({ payments: [{ paymentId: idOf("usdtbsc"), currency: "usdtbsc" }] })
    }).pipe(quiet)
  )

  it.scopedLive("fails with AmountRejected for a refused amount", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      const tooLittle = json(anError(400, "AMOUNT_MINIMAL_ERROR", "Crypto amount 1 is less than minimal"), 400)
      const unavailable = json(anError(400, "CURRENCY_UNAVAILABLE", "Currency usdcbase is not available"), 400)
      upstream.always(creating({ usdttrc20: tooLittle, usdtbsc: tooLittle, usdcbase: unavailable }))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ _tag: "AmountRejected" })
      upstream.always(creating({ usdttrc20: tooLittle, usdtbsc: tooLittle, usdcbase: json({}, 503) }))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "server_error" })
      upstream.always(creating({ usdttrc20: unavailable, usdtbsc: unavailable, usdcbase: unavailable }))
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "rejected", ambiguous: false })
    })
  )

  const unusable: ReadonlyArray<readonly [string, object]> = [
    ["with another amount than one token per dollar", { pay_amount: 25.1 }],
    ["with an amount that differs by less than one millionth", { pay_amount: 25.0001230001 }],
    ["in another coin", { pay_currency: "usdterc20" }],
    ["priced in another currency", { price_currency: "eur" }],
    ["of another order", { order_id: null }],
    ["with an id that cannot be stored", { payment_id: "1,2" }],
    ["without an address", { pay_address: "" }]
  ]
  for (const [what, parts] of unusable) {
    it.scopedLive(`${what} is not shown to the payer`, () =>
      Effect.gen(function* () {
        const { upstream, provider } = yield* withNowPayments({ currencies: ["usdttrc20"] })
        upstream.always(json(aCreated("usdttrc20", parts), 201))
        expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "bad_response" })
      })
    )
  }

  it.scopedLive("is offered only in dollar tokens", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments({ currencies: ["btc", " USDTTRC20 ", "usdttrc20", "usd"] })
      upstream.always((request) => json(aCreated(coinOf(request), { payin_extra_id: "memo-1", network: null }), 201))
      const { instructions } = yield* provider.open(intent)
      expect(upstream.requests.map(coinOf)).toEqual(["usdttrc20"])
      expect(instructions).toMatchObject({ depositAddresses: [{ memo: "memo-1", network: "trc20" }] })
    })
  )

  it.scopedLive("cannot be created if no supported coin is configured", () =>
    Effect.gen(function* () {
      const { provider } = yield* withNowPayments({ currencies: ["btc"] })
      expect(yield* Effect.flip(provider.open(intent))).toMatchObject({ kind: "not_configured" })
    })
  )
})

describe("the status of an order", () => {
  const refresh = (others: { readonly [code: string]: object }) =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.always(statusResponses(others))
      return yield* provider.refresh(intent, opened)
    })

  it.scopedLive("is paid if one coin is paid in full", () =>
    Effect.gen(function* () {
      const paid = { payment_status: "finished", actually_paid: AMOUNT, payin_hash: "0xabc" }
      expect(yield* refresh({ usdtbsc: paid, usdcbase: { payment_status: "expired" } })).toEqual({
        _tag: "Paid",
        paidAt: new Date("2026-11-20T04:41:12.000Z"),
        received: { receivedRaw: undefined, receivedUsdMicro: 25_000_123n },
        evidence: { transactions: ["0xabc"], remarks: [] }
      })
    })
  )

  it.scopedLive("is pending for a partial payment", () =>
    Effect.gen(function* () {
      const parts = {
        usdttrc20: { payment_status: "partially_paid", actually_paid: 10.5 },
        usdtbsc: { payment_status: "partially_paid", actually_paid: "0.0000019" }
      }
      expect(yield* refresh(parts)).toMatchObject({ _tag: "Pending", received: { receivedUsdMicro: 10_500_001n } })
    })
  )

  it.scopedLive("is expired only if all coins are expired", () =>
    Effect.gen(function* () {
      const expired = { payment_status: "expired" }
      const failed = { payment_status: "failed" }
      expect((yield* refresh({ usdttrc20: expired, usdtbsc: expired }))._tag).toBe("Pending")
      expect((yield* refresh({ usdttrc20: expired, usdtbsc: failed, usdcbase: expired }))._tag).toBe("Failed")
      expect((yield* refresh({ usdttrc20: expired, usdtbsc: expired, usdcbase: expired }))._tag).toBe("Expired")
    })
  )

  it.scopedLive("cannot be read while the status in one coin is unavailable", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      const unavailableIn = (code: string, others: { readonly [code: string]: object }) => {
        const respond = statusResponses(others)
        upstream.always((request) => (request.path.endsWith(idOf(code)) ? json({}, 503) : respond(request)))
        return provider.refresh(intent, opened)
      }
      const expired = { payment_status: "expired" }
      const paid = { payment_status: "finished", actually_paid: AMOUNT }
      expect(yield* Effect.flip(unavailableIn("usdcbase", { usdttrc20: expired, usdtbsc: expired }))).toMatchObject({
        kind: "server_error"
      })
      expect((yield* unavailableIn("usdcbase", { usdttrc20: paid }))._tag).toBe("Paid")
      expect((yield* unavailableIn("usdcbase", { usdttrc20: { ...paid, actually_paid: 1 } }))._tag).toBe("Suspicious")
    })
  )

  it.scopedLive("includes repeated payments", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      const repeat = (payment_id: number, parts: object) =>
        json(aStatus("usdttrc20", { payment_id, order_id: null, payment_status: "finished", ...parts }))
      const respond = statusResponses({
        usdttrc20: { payment_status: "partially_paid", actually_paid: 10, payment_extra_ids: [8_001] }
      })
      const also: Record<string, Script> = {
        "/v1/payment/8001": repeat(8_001, { actually_paid: 5 }),
        "/v1/payment/8002": repeat(8_002, { actually_paid: 10.000123, parent_payment_id: Number(idOf("usdttrc20")) }),
        "/v1/payment/8003": json(anError(404, "PAYMENT_NOT_FOUND", "Payment not found"), 404)
      }
      upstream.always((request) => also[request.path] ?? respond(request))
      const refreshWith = (...repeatedPayments: ReadonlyArray<string>) =>
        provider.refresh(intent, { ...opened, repeatedPayments })
      expect(yield* refreshWith("8003")).toMatchObject({ _tag: "Pending", received: { receivedUsdMicro: 15_000_000n } })
      expect(yield* refreshWith("8002", "8001")).toMatchObject({
        _tag: "Pending",
        received: { receivedUsdMicro: 25_000_123n }
      })

      also["/v1/payment/8001"] = json({}, 503)
      expect(yield* Effect.flip(refreshWith())).toMatchObject({ kind: "server_error" })
    }).pipe(quiet)
  )

  it.scopedLive("is paid even if none of twenty repeated payments is read in time", () =>
    Effect.gen(function* () {
      const limits = { timeoutMillis: 2_000, breaker: { failures: 100, windowMillis: 30_000, openMillis: 30_000 } }
      const { upstream, provider } = yield* withNowPayments({ limits })
      const repeats = Array.from({ length: 20 }, (_, i) => 8_001 + i)
      const paid = { payment_status: "finished", actually_paid: AMOUNT, payment_extra_ids: repeats }
      const respond = statusResponses({ usdttrc20: paid })
      const isRepeat = ({ path }: ReceivedRequest) => repeats.some((id) => path === `/v1/payment/${id}`)
      upstream.always((request) => (isRepeat(request) ? script({ steps: [stall] }) : respond(request)))
      expect(yield* provider.refresh(intent, opened)).toMatchObject({ _tag: "Paid" })
      expect(upstream.requests.filter(isRepeat)).toHaveLength(8)
    }).pipe(quiet)
  )

  it.scopedLive("cannot be read from the response for another payment", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.always(json(aStatus("usdttrc20", { payment_id: 1, payment_status: "finished", actually_paid: AMOUNT })))
      expect(yield* Effect.flip(provider.refresh(intent, opened))).toMatchObject({ kind: "bad_response" })
      for (const state of [null, {}, { payments: [] }, { payments: [{ paymentId: 7 }] }]) {
        expect(yield* Effect.flip(provider.refresh(intent, { ...opened, state }))).toMatchObject({
          kind: "bad_response"
        })
      }
    })
  )
})

describe("a probe", () => {
  it.scopedLive("limits payments to the coins that the account accepts", () =>
    Effect.gen(function* () {
      const { upstream, provider } = yield* withNowPayments()
      upstream.next(json({ selectedCurrencies: ["BTC", "USDTBSC"] }))
      yield* provider.probe
      expect(upstream.requests[0]?.path).toBe("/v1/merchant/coins")
      upstream.always(creating())
      expect((yield* provider.open(intent)).providerPaymentId).toBe(idOf("usdtbsc"))

      upstream.next(json({ selectedCurrencies: COINS }))
      yield* provider.probe
      expect((yield* provider.open(intent)).providerPaymentId).toBe(opened.providerPaymentId)

      upstream.next(json({ selectedCurrencies: ["btc"] }))
      expect(yield* Effect.flip(provider.probe)).toMatchObject({ kind: "rejected" })
      upstream.next(json(anError(403, "INVALID_API_KEY", "Invalid api key"), 403))
      expect(yield* Effect.flip(provider.probe)).toMatchObject({ kind: "unauthorized" })
    }).pipe(quiet)
  )
})

describeFaults({
  make: (baseUrl, limits) => NowPayments.make(settings({ baseUrl, limits, currencies: ["usdttrc20"] })),
  intent,
  opened: { ...opened, state: { payments: [{ paymentId: idOf("usdttrc20"), currency: "usdttrc20" }] } },
  bodyErrors: [
    ["an unknown API key", anError(403, "INVALID_API_KEY", "Invalid api key"), "unauthorized"],
    ["an unknown payment", anError(404, "PAYMENT_NOT_FOUND", "Payment not found"), "rejected"],
    ["too many requests", anError(429, "TOO_MANY_REQUESTS", "Slow down"), "rate_limited"],
    ["an internal error of NOWPayments", anError(500, "INTERNAL_ERROR", "Internal error"), "server_error"]
  ]
})
