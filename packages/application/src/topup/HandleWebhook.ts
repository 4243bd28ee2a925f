/**
 * Handles a payment provider's webhook, which causes a refresh of its order (docs/reference/reseller.md#d9). Its
 * content is not trusted, because the refresh asks the provider.
 *
 * Every webhook with a valid signature is acknowledged, even if it names no order. The provider then does not send it
 * again, and the response does not reveal which orders exist.
 */
import { orderIdOf } from "@tollgate/domain/topup/TopUpOrder"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type BadSignature, type PaymentProvider, PaymentProviders, type Reported } from "./PaymentProviders.ts"
import { PaymentRefresher } from "./PaymentRefresher.ts"
import { TopUpOrders } from "./TopUpOrders.ts"

/** Providers wait only a few seconds for the acknowledgement. The refresh continues after the acknowledgement. */
const ACKNOWLEDGEMENT_TIMEOUT = Duration.seconds(2)

const MAX_LOGGED_LENGTH = 100

type Headers = Readonly<Record<string, string | undefined>>

/** Returns the acknowledgement that the provider expects, as JSON. */
export const handleWebhook = (providerName: string, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    const named = (yield* PaymentProviders).all.filter(({ name }) => name === providerName)
    const { reported, label, acknowledgement } = yield* genuine(named, headers, body)

    const stored = yield* orderOf(reported, label)
    if (Option.isSome(stored)) {
      yield* Effect.timeoutOption((yield* PaymentRefresher).refreshAfterReport(stored.value), ACKNOWLEDGEMENT_TIMEOUT)
    } else {
      const orderNumber = reported.orderNumber?.slice(0, MAX_LOGGED_LENGTH)
      yield* Effect.logInfo("a webhook named no order of this provider", { provider: providerName, orderNumber })
    }
    return acknowledgement
  })

/**
 * Finds the order. A payment that repeats an earlier payment belongs to that payment's order, whatever order it names.
 */
const orderOf = ({ orderNumber, repeated }: Reported, label: string) =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const repeatedOf = repeated === undefined ? Option.none() : yield* orders.noteRepeated(label, repeated)
    if (Option.isSome(repeatedOf)) return repeatedOf
    const id = orderIdOf(orderNumber ?? "")
    const found = Option.isSome(id) ? yield* orders.find(id.value) : Option.none()
    return Option.filter(found, ({ order }) => order.provider === label)
  })

/** Verifies the webhook with each provider of this name: while a provider account is replaced, there are several. */
const genuine = (providers: ReadonlyArray<PaymentProvider>, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    let refusal: NotFound | BadSignature = new NotFound({ what: "webhook" })
    for (const { label, webhook } of providers) {
      if (webhook === undefined) continue
      const verified = yield* Effect.either(webhook.verify(headers, body))
      if (verified._tag === "Right") {
        return { reported: verified.right, label, acknowledgement: webhook.acknowledgement }
      }
      refusal = verified.left
    }
    return yield* refusal
  })
