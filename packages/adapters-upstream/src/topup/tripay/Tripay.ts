/**
 * Takes QRIS payments through Tripay, on a payment page that Tripay hosts. Each order has one payment of a fixed amount
 * over one Tripay channel. The response to the creation of a payment contains the URL of the page and the text of the
 * QRIS code.
 */
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type AccountSettings, isRealMoney, labelOf } from "../wire/PaymentAccount.ts"
import { failuresOf, UNKNOWN_STATUS } from "../wire/PaymentFailures.ts"
import * as PaymentHttp from "../wire/PaymentHttp.ts"
import { rupiahOf } from "../wire/WireAmounts.ts"
import { isKnown, toObservation } from "./TripayObservation.ts"
import { FEE_ON_CUSTOMER, readAsked, readCreated, readEnvelope } from "./TripayResponses.ts"
import * as TripayWebhook from "./TripayWebhook.ts"
import { Channels, Transaction } from "./TripayWire.ts"

export const NAME = "tripay"
const MINUTE_MILLIS = 60_000
const MAX_NAME_CHARACTERS = 100

export interface TripaySettings extends AccountSettings {
  readonly apiKey: Redacted.Redacted<string>
  readonly privateKey: Redacted.Redacted<string>
  readonly merchantCode: string
  /**
   * The QRIS channel of the account, for example `QRIS2`. Tripay charges a fee for payments over a channel. The account
   * must be configured so that the merchant (the owner of the account) pays this fee, and not the payer.
   */
  readonly channel: string
  /** The URL that the hosted page links to after the payment. */
  readonly returnUrl: string | undefined
}

export const make = (settings: TripaySettings): Effect.Effect<PaymentProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const label = labelOf(NAME, settings)
    const failures = failuresOf(label)
    const { baseUrl, limits, apiKey, privateKey, merchantCode, channel, webhookUrl, returnUrl } = settings
    const credential = { name: "authorization", value: Redacted.make(`Bearer ${Redacted.value(apiKey)}`) }
    const http = yield* PaymentHttp.make({ baseUrl, credential, failures, limits })

    const open: PaymentProvider["open"] = (intent) =>
      Effect.flatMap(rupiahOf(intent), (total) => {
        const { orderNumber, payer } = intent
        const expiresMillis = intent.createdAt.getTime() + settings.expiryMinutes * MINUTE_MILLIS
        return http.call({
          method: "POST",
          path: "/transaction/create",
          body: {
            method: channel,
            merchant_ref: orderNumber,
            amount: total,
            // The name is cut between characters. Half of a surrogate pair would be a text that Tripay cannot parse.
            customer_name: [...payer.name].slice(0, MAX_NAME_CHARACTERS).join(""),
            customer_email: payer.email,
            order_items: [{ sku: "TOPUP", name: "Quota top-up", price: total, quantity: 1n }],
            callback_url: webhookUrl,
            return_url: returnUrl,
            expired_time: BigInt(Math.floor(expiresMillis / 1_000)),
            signature: TripayWebhook.paymentSignature(merchantCode, orderNumber, total, privateKey)
          },
          // Tripay creates a second payment if the request is repeated.
          repeatable: false,
          read: ({ body }) =>
            Either.flatMap(readEnvelope(failures, body), (data) =>
              readCreated(failures, settings, data, { orderNumber, total })
            )
        })
      })

    const refresh: PaymentProvider["refresh"] = (intent, { providerPaymentId: reference }) =>
      Effect.gen(function* () {
        const total = yield* rupiahOf(intent)
        const transaction = yield* http.call({
          method: "GET",
          path: `/transaction/detail?reference=${encodeURIComponent(reference)}`,
          repeatable: true,
          read: ({ body }) => readAsked(failures, body, Transaction)
        })
        const { status } = transaction
        if (!isKnown(status)) yield* Effect.logWarning(UNKNOWN_STATUS, { provider: label, status })
        return toObservation(transaction, { reference, orderNumber: intent.orderNumber, total })
      })

    const probe = http.call({
      method: "GET",
      path: `/merchant/payment-channel?code=${encodeURIComponent(channel)}`,
      repeatable: true,
      read: ({ body }) =>
        Either.flatMap(readAsked(failures, body, Channels), (channels) => {
          const ours = channels.find(({ code }) => code === channel)
          if (ours === undefined || !ours.active) {
            return Either.left(failures.unavailable("rejected", `the channel ${channel} is not active`))
          }
          const { flat, percent } = ours.fee_customer
          return isZero(flat) && isZero(percent)
            ? Either.void
            : Either.left(failures.unavailable("rejected", `${FEE_ON_CUSTOMER}: ${flat} + ${percent} %`))
        })
    })

    return {
      label,
      name: NAME,
      simulated: !isRealMoney(settings),
      method: "hosted_qris",
      needsDepositIndex: false,
      probe,
      open,
      refresh,
      // Tripay cannot cancel a payment. An unpaid payment expires.
      cancel: undefined,
      webhook: TripayWebhook.make(label, privateKey)
    }
  })

const isZero = (text: string): boolean => /^0+(\.0+)?$/.test(text)
