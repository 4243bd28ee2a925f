/**
 * Takes USDT and USDC through NOWPayments. For each order the adapter tries to open one payment per coin (a token on
 * one network). The payer chooses a coin by paying to the address of that coin. One token counts as one dollar.
 */
import type { OpenedPayment, PaymentProvider, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Digits } from "../wire/ExactJson.ts"
import { type AccountSettings, isRealMoney, labelOf } from "../wire/PaymentAccount.ts"
import { failuresOf, UNKNOWN_STATUS } from "../wire/PaymentFailures.ts"
import * as PaymentHttp from "../wire/PaymentHttp.ts"
import { dollarsOf, usdDigits } from "../wire/WireAmounts.ts"
import { combine, isKnown, type RequestedPayment, toObservation } from "./NowPaymentsObservation.ts"
import { type OwnPayment, repeatsOf, withRepeats } from "./NowPaymentsRepeats.ts"
import { type Failure, readAs, readCreated } from "./NowPaymentsResponses.ts"
import * as NowPaymentsWebhook from "./NowPaymentsWebhook.ts"
import { Coins, Created, coinsOf, MAX_COINS, type NowPaymentsCoin, Payment } from "./NowPaymentsWire.ts"

export const NAME = "nowpayments"
const MINUTE_MILLIS = 60_000

/** An observation with one of these tags is valid even if other payments of the order could not be read. */
const DECISIVE: ReadonlySet<PaymentObservation["_tag"]> = new Set(["Paid", "Suspicious"])

/** The payments of an order, as they are stored with the order. */
const OpenedState = Schema.Struct({
  payments: Schema.NonEmptyArray(Schema.Struct({ paymentId: Schema.NonEmptyString, currency: Schema.NonEmptyString }))
})

export interface NowPaymentsSettings extends AccountSettings {
  readonly apiKey: Redacted.Redacted<string>
  readonly ipnSecret: Redacted.Redacted<string>
  /** The NOWPayments codes of the accepted coins: USDT and USDC on certain networks, for example `usdttrc20`. */
  readonly currencies: ReadonlyArray<string>
}

export const make = (settings: NowPaymentsSettings): Effect.Effect<PaymentProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const label = labelOf(NAME, settings)
    const failures = failuresOf(label)
    const { baseUrl, limits, apiKey, webhookUrl } = settings
    const configured = coinsOf(settings.currencies)
    const { maxConcurrentCalls, timeoutMillis } = { ...PaymentHttp.defaultLimits, ...limits }
    const timeout = Duration.millis(timeoutMillis)
    const http = yield* PaymentHttp.make({
      baseUrl,
      credential: { name: "x-api-key", value: apiKey },
      failures,
      // Each opening and each refresh makes one call per coin at the same time, so the limit is multiplied by the
      // number of coins. Otherwise the openings of one reseller, up to half of all openings, could use all calls.
      limits: { ...limits, maxConcurrentCalls: maxConcurrentCalls * Math.max(1, configured.length) }
    })
    const coins = yield* Ref.make(configured)

    const openIn = (coin: NowPaymentsCoin, { orderNumber, currency, amount }: RequestedPayment) => {
      const digits = new Digits(usdDigits(amount))
      return http.call({
        method: "POST",
        path: "/v1/payment",
        body: {
          price_amount: digits,
          price_currency: "usd",
          // Without `pay_amount`, NOWPayments converts the price at a rate that it chooses.
          pay_amount: digits,
          pay_currency: currency,
          order_id: orderNumber,
          order_description: "Quota top-up",
          ipn_callback_url: webhookUrl,
          is_fixed_rate: false,
          is_fee_paid_by_user: false
        },
        // If this request is sent again after an error, NOWPayments can create a second payment. The gateway stores and
        // shows only the payment of the last response. The other payment is harmless, because no payer sees its
        // address.
        repeatable: true,
        read: ({ body }) =>
          Either.flatMap(readAs(failures, body, Created), (created) =>
            readCreated(failures, coin, created, { orderNumber, currency, amount })
          )
      })
    }

    const open: PaymentProvider["open"] = (intent) =>
      Effect.gen(function* () {
        const amount = yield* dollarsOf(intent)
        const offered = yield* coins
        if (offered.length === 0) return yield* failures.unavailable("not_configured", "no coin is configured")
        const [refused, opened] = yield* Effect.partition(
          offered,
          (coin) => openIn(coin, { orderNumber: intent.orderNumber, currency: coin.code, amount }),
          { concurrency: MAX_COINS }
        )
        if (opened.length === 0) return yield* failOpening(refused)
        if (refused.length > 0) {
          const details = refused.map(({ detail }) => detail)
          yield* Effect.logWarning("NOWPayments opened no payment in some coins; the order is offered without them", {
            provider: label,
            details
          })
        }
        return {
          providerPaymentId: opened.map(({ paymentId }) => paymentId).join(","),
          instructions: { _tag: "Crypto", depositAddresses: opened.map(({ address }) => address) },
          // The order expires no later than its address: NOWPayments keeps the address open for a week and reports
          // money that arrives in that time.
          expiresAt: new Date(intent.createdAt.getTime() + settings.expiryMinutes * MINUTE_MILLIS),
          state: { payments: opened.map(({ paymentId, currency }) => ({ paymentId, currency })) }
        } satisfies OpenedPayment
      })

    const readPayment = (paymentId: string) =>
      Effect.gen(function* () {
        const payment = yield* http.call({
          method: "GET",
          path: `/v1/payment/${encodeURIComponent(paymentId)}`,
          repeatable: true,
          read: ({ body }) => Either.mapLeft(readAs(failures, body, Payment), failures.withoutAmount)
        })
        const { payment_status: status, payment_id } = payment
        if (!isKnown(status)) yield* Effect.logWarning(UNKNOWN_STATUS, { provider: label, status })
        if (payment_id !== paymentId) {
          return yield* failures.unavailable("bad_response", "the response is for another payment")
        }
        return payment
      })

    /**
     * Fetches the payment of a repeat (a further deposit to an address of the order). Returns none if NOWPayments
     * rejects the payment id. The id can come from a webhook and be wrong.
     */
    const repeatOf = (paymentId: string) =>
      Effect.asSome(readPayment(paymentId)).pipe(
        Effect.catchIf(
          ({ kind }) => kind === "rejected",
          ({ detail }) =>
            Effect.as(
              Effect.logWarning("NOWPayments rejects the id of a repeated payment; the payment is ignored", {
                provider: label,
                paymentId,
                detail
              }),
              Option.none<Payment>()
            )
        )
      )

    const unreadRepeats: [failed: Array<ProviderUnavailable>, read: Array<Option.Option<Payment>>] = [
      [failures.unavailable("timeout", "the repeated payments were not read in time")],
      []
    ]

    const refresh: PaymentProvider["refresh"] = (intent, { state, repeatedPayments = [] }) =>
      Effect.gen(function* () {
        const amount = yield* dollarsOf(intent)
        const { payments } = yield* Effect.mapError(Schema.decodeUnknown(OpenedState)(state), () =>
          failures.unavailable("bad_response", "the stored state of the order's payments cannot be read")
        )
        const ownOf = ({ paymentId, currency }: (typeof payments)[number]) =>
          Effect.map(readPayment(paymentId), (payment): OwnPayment => {
            return { payment, requested: { orderNumber: intent.orderNumber, currency, amount } }
          })
        const [elapsed, [failedOwn, own]] = yield* Effect.timed(
          Effect.partition(payments, ownOf, { concurrency: MAX_COINS })
        )
        // The refresh must end before the timeout of its use case. A paid order is credited even if its repeats cannot
        // be read in the remaining time.
        const [failedRepeats, repeats] = yield* Effect.timeoutTo(
          Effect.partition(repeatsOf(own, repeatedPayments), repeatOf, { concurrency: MAX_COINS }),
          {
            duration: Duration.subtract(timeout, elapsed),
            onSuccess: identity,
            onTimeout: () => unreadRepeats
          }
        )
        const combined = combine(own.map(({ payment, requested }) => toObservation(payment, requested)))
        const observation = withRepeats(combined, own, repeats.flatMap(Option.toArray))
        const [failure] = [...failedOwn, ...failedRepeats]
        return failure === undefined || DECISIVE.has(observation._tag) ? observation : yield* failure
      })

    const probe = Effect.gen(function* () {
      const { selectedCurrencies } = yield* http.call({
        method: "GET",
        path: "/v1/merchant/coins",
        repeatable: true,
        read: ({ body }) => Either.mapLeft(readAs(failures, body, Coins), failures.withoutAmount)
      })
      const taken = new Set(selectedCurrencies.map((code) => code.toLowerCase()))
      const usable = configured.filter(({ code }) => taken.has(code))
      if (usable.length === 0)
        return yield* failures.unavailable("rejected", "the account accepts none of the configured coins")
      const missing = settings.currencies.filter(
        (code) => !usable.some((coin) => coin.code === code.trim().toLowerCase())
      )
      if (missing.length > 0)
        yield* Effect.logWarning(
          "the NOWPayments account does not accept some configured coins; orders are offered without them",
          { provider: label, missing }
        )
      yield* Ref.set(coins, usable)
    })

    return {
      label,
      name: NAME,
      simulated: !isRealMoney(settings),
      method: "crypto",
      needsDepositIndex: false,
      probe,
      open,
      refresh,
      cancel: undefined,
      webhook: NowPaymentsWebhook.make(label, settings.ipnSecret)
    }
  })

/**
 * Fails with one of the failures to open a payment in each coin: a failure that is not a refusal (such as a timeout),
 * otherwise a rejected amount, otherwise any other refusal.
 */
const failOpening = (failures: ReadonlyArray<Failure>): Effect.Effect<never, Failure> => {
  const passing = failures.find((failure) => failure._tag === "ProviderUnavailable" && failure.kind !== "rejected")
  const failure = passing ?? failures.find(({ _tag }) => _tag === "AmountRejected") ?? failures[0]
  return failure === undefined
    ? Effect.dieMessage("opening the payments returned neither a payment nor a failure")
    : Effect.fail(failure)
}
