/**
 * Handles a payment provider's webhook (docs/reference/reseller.md#d9): refreshes the order that the webhook names, or
 * the order of the original payment if the webhook reports a repeated payment. The payment state in the webhook is not
 * used, because the refresh reads the state from the provider.
 *
 * A webhook with a valid signature is acknowledged even if the named order does not exist. The provider then does not
 * repeat the webhook, and the response does not reveal which orders exist.
 *
 * A webhook can report money for an order number without an order: the draft was abandoned because the response of the
 * provider was lost, or a restore of the database has lost the order. An operator must inspect such a payment.
 *
 * A webhook is not acknowledged if the payment could not be read and the background task does not refresh the order any
 * more. Without a repeat of the webhook, a refund would stay unknown until an operator refreshes the order, and a very
 * late payment until a reseller or an operator does.
 */
import type { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import { nextRefreshAt } from "@tollgate/domain/topup/RefreshSchedule"
import { orderIdOf } from "@tollgate/domain/topup/TopUpOrder"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { unavailable } from "./OpenPayment.ts"
import { OrderPayments } from "./OrderPayments.ts"
import {
  type BadSignature,
  type PaymentNotification,
  type PaymentProvider,
  PaymentProviders
} from "./PaymentProviders.ts"
import { TopUpCounts, type WebhookOutcome } from "./TopUpCounts.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

/**
 * The time after which the response is sent even if the refresh still runs, because providers wait only a few seconds.
 */
const RESPONSE_TIMEOUT = Duration.seconds(2)

const MAX_LOGGED_LENGTH = 100

type Headers = Readonly<Record<string, string | undefined>>

/** Returns the acknowledgement that the provider expects, as JSON. */
export const handleWebhook = (providerName: string, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    const named = (yield* PaymentProviders).all.filter(({ name }) => name === providerName)
    const counts = yield* TopUpCounts
    const count = (outcome: WebhookOutcome) =>
      Effect.sync(() => {
        if (named.length > 0) counts.webhook(providerName, outcome)
      })
    return yield* verifyAndRefresh(named, headers, body).pipe(
      Effect.tap(({ outcome }) => count(outcome)),
      Effect.tapErrorCause((cause) => count(isRefusal(cause) ? "refused" : "failed")),
      Effect.map(({ acknowledgement }) => acknowledgement)
    )
  })

const isRefusal = (cause: Cause.Cause<NotFound | BadSignature | PaymentProviderUnavailable>): boolean =>
  Option.exists(Cause.failureOption(cause), ({ _tag }) => _tag !== "PaymentProviderUnavailable")

/** Verifies a webhook and refreshes the order that it names. */
const verifyAndRefresh = (named: ReadonlyArray<PaymentProvider>, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    const { notification, provider, acknowledgement } = yield* verify(named, headers, body)

    const stored = yield* orderOf(notification, provider.label)
    yield* Option.match(stored, {
      onNone: () => noteMissingOrder(notification, provider),
      onSome: refreshOrRefuse
    })
    return { acknowledgement, outcome: Option.isSome(stored) ? ("accepted" as const) : ("no_order" as const) }
  })

/** Logs a webhook without an order, and alerts an operator if it reports money for an order number. */
const noteMissingOrder = ({ orderNumber, paid }: PaymentNotification, { label, method }: PaymentProvider) =>
  Effect.gen(function* () {
    const logged = { provider: label, order_number: orderNumber?.slice(0, MAX_LOGGED_LENGTH) }
    // Other shops can use the same account at the provider. Their payments have no order number of this form.
    if (paid !== true || Option.isNone(orderIdOf(orderNumber ?? ""))) {
      return yield* Effect.logInfo("a webhook named no order of this provider", logged)
    }
    const counts = yield* TopUpCounts
    counts.alert(method)
    yield* Effect.logWarning(
      "an operator must inspect a payment; a webhook reports money, but there is no order",
      logged
    )
  })

/**
 * Refreshes an order. Fails if its payment was not read in time and the schedule contains no refresh after this one. A
 * refresh that was scheduled before can still be due. The provider then repeats the webhook without need.
 */
const refreshOrRefuse = (stored: StoredTopUp) =>
  Effect.gen(function* () {
    const { refresh } = yield* OrderPayments
    const result = yield* Effect.timeoutOption(refresh(stored, "webhook"), RESPONSE_TIMEOUT)
    if (Option.exists(result, ({ refreshed }) => refreshed)) return
    const now = new Date(yield* Clock.currentTimeMillis)
    if (nextRefreshAt(stored.order, now) === undefined) return yield* unavailable()
  })

/**
 * Finds the order of a webhook. A repeated payment belongs to the order of the original payment, even if the webhook
 * names another order.
 */
const orderOf = ({ orderNumber, repeated }: PaymentNotification, label: string) =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const repeatedOf = repeated === undefined ? Option.none() : yield* orders.noteRepeated(label, repeated)
    if (Option.isSome(repeatedOf)) return repeatedOf
    const id = orderIdOf(orderNumber ?? "")
    const found = Option.isSome(id) ? yield* orders.find(id.value) : Option.none()
    return Option.filter(found, ({ order }) => order.provider === label)
  })

/**
 * Verifies the webhook with each provider of this name, until one accepts its signature. A program that embeds this
 * package can configure two providers with the same name but different labels, for example `midtrans`, and
 * `midtrans-sandbox` for older orders.
 */
const verify = (providers: ReadonlyArray<PaymentProvider>, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    let refusal: NotFound | BadSignature = new NotFound({ what: "webhook" })
    for (const provider of providers) {
      const { webhook } = provider
      if (webhook === undefined) continue
      const verified = yield* Effect.either(webhook.verify(headers, body))
      if (verified._tag === "Right") {
        return { notification: verified.right, provider, acknowledgement: webhook.acknowledgement }
      }
      refusal = verified.left
    }
    return yield* refusal
  })
