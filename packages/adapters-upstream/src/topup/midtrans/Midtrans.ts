/**
 * Takes QRIS payments through the Midtrans Core API. Each order has one payment (Midtrans calls it a charge). The
 * response to the creation of a payment contains the text of the QRIS code, and can contain the URL of the code as an
 * image.
 */
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type AccountSettings, isRealMoney, labelOf } from "../wire/PaymentAccount.ts"
import { failuresOf, type PaymentFailures, UNKNOWN_STATUS } from "../wire/PaymentFailures.ts"
import * as PaymentHttp from "../wire/PaymentHttp.ts"
import { rupiahOf } from "../wire/WireAmounts.ts"
import { isKnown, toObservation } from "./MidtransObservation.ts"
import { readCharge, readReply, readTransaction } from "./MidtransResponses.ts"
import * as MidtransWebhook from "./MidtransWebhook.ts"

export const NAME = "midtrans"
const MINUTE_MILLIS = 60_000

/**
 * An order number that no order has. The response to a status request for this number shows whether the server key is
 * valid.
 */
const NO_ORDER = "RTO-probe"

export interface MidtransSettings extends AccountSettings {
  readonly serverKey: Redacted.Redacted<string>
  /** The acquirer of the QRIS codes: the company that processes the payments for the owner of the Midtrans account. */
  readonly acquirer: "gopay" | "airpay shopee"
}

export const make = (settings: MidtransSettings): Effect.Effect<PaymentProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const label = labelOf(NAME, settings)
    const failures = failuresOf(label)
    const { baseUrl, limits, serverKey, acquirer, webhookUrl, expiryMinutes } = settings
    const credential = {
      name: "authorization",
      value: Redacted.make(`Basic ${Buffer.from(`${Redacted.value(serverKey)}:`).toString("base64")}`)
    }
    const http = yield* PaymentHttp.make({ baseUrl, credential, failures, limits })

    const open: PaymentProvider["open"] = (intent) =>
      Effect.flatMap(rupiahOf(intent), (total) =>
        http.call({
          method: "POST",
          path: "/v2/charge",
          headers: {
            // For five minutes, Midtrans returns the first response again to a retry, instead of refusing the repeated
            // order number.
            "idempotency-key": intent.orderNumber,
            ...(webhookUrl === undefined ? {} : { "x-override-notification": webhookUrl })
          },
          body: {
            payment_type: "qris",
            transaction_details: { order_id: intent.orderNumber, gross_amount: total },
            qris: { acquirer },
            custom_expiry: { expiry_duration: BigInt(expiryMinutes), unit: "minute" }
            // The payer's data is omitted: Midtrans does not need it and could refuse an unusual name or email address.
          },
          repeatable: true,
          read: (response) =>
            Either.flatMap(readReply(failures, response.body, CREATED), () =>
              readCharge(failures, settings, response.body, {
                orderNumber: intent.orderNumber,
                total,
                expiresAt: new Date(intent.createdAt.getTime() + expiryMinutes * MINUTE_MILLIS)
              })
            )
        })
      )

    const refresh: PaymentProvider["refresh"] = (intent) =>
      Effect.gen(function* () {
        const total = yield* rupiahOf(intent)
        const transaction = yield* http.call({
          method: "GET",
          path: `/v2/${encodeURIComponent(intent.orderNumber)}/status`,
          repeatable: true,
          read: (response) => readTransaction(failures, response.body)
        })
        const { transaction_status: status } = transaction
        if (!isKnown(status)) yield* Effect.logWarning(UNKNOWN_STATUS, { provider: label, status })
        return toObservation(transaction, intent, total)
      })

    const cancel: PaymentProvider["cancel"] = (intent) =>
      http.call({
        method: "POST",
        path: `/v2/${encodeURIComponent(intent.orderNumber)}/cancel`,
        repeatable: true,
        read: (response) => Either.mapBoth(readReply(failures, response.body, CANCELLED), done(failures))
      })

    const probe = http.call({
      method: "GET",
      path: `/v2/${NO_ORDER}/status`,
      repeatable: true,
      read: (response) => Either.mapBoth(readReply(failures, response.body, PROBED), done(failures))
    })

    return {
      label,
      name: NAME,
      simulated: !isRealMoney(settings),
      method: "qris",
      needsDepositIndex: false,
      probe,
      open,
      refresh,
      cancel,
      webhook: MidtransWebhook.make(label, serverKey)
    }
  })

const CREATED = /^20[01]$/
/**
 * Matches the status codes with which a cancellation succeeds. Some of these codes mean that the payment is already
 * closed or was never created.
 */
const CANCELLED = /^(200|404|407|412)$/
const PROBED = /^(2\d\d|404|407)$/

const done = ({ withoutAmount }: PaymentFailures) => ({ onLeft: withoutAmount, onRight: () => undefined })
