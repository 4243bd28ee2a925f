/**
 * A payment provider says that something happened to an order (docs/reference/reseller.md#d9). Its word only wakes us:
 * what happened is asked of the provider, as always.
 *
 * A genuine webhook is acknowledged whatever it names, so that it is not sent again and tells nobody which orders exist.
 */

import { orderIdOf } from "@tollgate/domain/topup/TopUpOrder"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type BadSignature, type PaymentProvider, PaymentProviders, type Reported } from "./PaymentProviders.ts"
import { PaymentRefresher } from "./PaymentRefresher.ts"
import { TopUpOrders } from "./TopUpOrders.ts"

/** Providers wait for seconds only; the look goes on without them. */
const PATIENCE = Duration.seconds(2)

const MOST_OF_A_NUMBER = 100

type Headers = Readonly<Record<string, string | undefined>>

/** What the provider wants to hear, as JSON. */
export const handleWebhook = (providerName: string, headers: Headers, body: Uint8Array) =>
  Effect.gen(function* () {
    const named = (yield* PaymentProviders).all.filter(({ name }) => name === providerName)
    const { reported, label, acknowledgement } = yield* genuine(named, headers, body)

    const stored = yield* orderOf(reported, label)
    if (Option.isSome(stored)) {
      yield* Effect.timeoutOption((yield* PaymentRefresher).refreshAfterReport(stored.value), PATIENCE)
    } else {
      const orderNumber = reported.orderNumber?.slice(0, MOST_OF_A_NUMBER)
      yield* Effect.logInfo("a webhook named no order of this provider", { provider: providerName, orderNumber })
    }
    return acknowledgement
  })

/** A payment that repeats one of an order is about that order, whatever order it names, if any. */
const orderOf = ({ orderNumber, repeated }: Reported, label: string) =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const repeatedOf = repeated === undefined ? Option.none() : yield* orders.noteRepeated(label, repeated)
    if (Option.isSome(repeatedOf)) return repeatedOf
    const id = orderIdOf(orderNumber ?? "")
    const found = Option.isSome(id) ? yield* orders.find(id.value) : Option.none()
    return Option.filter(found, ({ order }) => order.provider === label)
  })

/** The first of the providers of this name whose signature it is; several have one name while an account is replaced. */
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
