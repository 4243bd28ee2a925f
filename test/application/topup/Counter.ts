/**
 * A payment provider that does as it is told, and the stored orders it is asked about, with a record of who was asked
 * what. The decisions are the domain's; what a real store adds (locks, uniqueness) is tested with the real store.
 */

import {
  type AmountRejected,
  type OpenedPayment,
  type PaymentProvider,
  PaymentProviders,
  type ProviderUnavailable,
  type Reported
} from "@tollgate/application/topup/PaymentProviders"
import * as PaymentRefresher from "@tollgate/application/topup/PaymentRefresher"
import { type AbandonedTopUp, type StoredTopUp, TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { decideCrediting, decideRefresh } from "@tollgate/domain/topup/Refresh"
import { type OrderId, TopUpNotFound, type TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import { Clock, Effect, Layer, Logger, Option } from "effect"
import { anOrder, aQuota, aReseller } from "../../support/resellers.ts"

export const seen = (tag: "Pending" | "Paid" | "Expired"): PaymentObservation =>
  tag === "Paid" ? { _tag: tag, received: undefined, paidAt: undefined } : { _tag: tag, received: undefined }

export class Counter {
  readonly orders = new Map<OrderId, StoredTopUp>()
  readonly abandoned = new Map<OrderId, string>()
  /** Orders the sweep finds due, one batch a call. */
  readonly due: Array<ReadonlyArray<StoredTopUp>> = []
  stale: ReadonlyArray<AbandonedTopUp> = []
  /** `refresh`, `open`, `cancel`, `record`, `credit`, in the order they were begun. */
  readonly log: Array<string> = []
  quota = aQuota(0n)

  says: Effect.Effect<PaymentObservation, ProviderUnavailable> = Effect.succeed(seen("Pending"))
  opens: Effect.Effect<OpenedPayment, ProviderUnavailable | AmountRejected> = Effect.succeed(anOpening())
  providers: ReadonlyArray<PaymentProvider> = [this.provider()]

  provider(facts: Partial<PaymentProvider> = {}): PaymentProvider {
    return {
      label: "bsc",
      name: "bsc",
      simulated: false,
      method: "crypto_bep20",
      needsDepositIndex: true,
      probe: Effect.void,
      open: () =>
        this.#noted(
          "open",
          Effect.suspend(() => this.opens)
        ),
      refresh: () =>
        this.#noted(
          "refresh",
          Effect.suspend(() => this.says)
        ),
      cancel: ({ orderNumber }) => this.#noted(`cancel ${orderNumber}`, Effect.void),
      webhook: undefined,
      ...facts
    }
  }

  keep(order: TopUpOrder): StoredTopUp {
    const stored = {
      order,
      payer: { name: aReseller().name, email: aReseller().email },
      providerState: {},
      repeatedPayments: []
    }
    this.orders.set(order.id, stored)
    return stored
  }

  count(deed: string): number {
    return this.log.filter((noted) => noted === deed).length
  }

  #noted<A, E>(deed: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.zipRight(
      Effect.sync(() => this.log.push(deed)),
      effect
    )
  }

  #stored(id: OrderId) {
    return Option.fromNullable(this.orders.get(id))
  }

  readonly ports = Layer.mergeAll(
    Layer.mock(TopUpOrders, {
      draft: ({ needsDepositIndex, ...topUp }) =>
        Effect.map(Clock.currentTimeMillis, (now) => ({
          ...topUp,
          id: anOrder().id,
          depositIndex: needsDepositIndex ? 7 : undefined,
          createdAt: new Date(now)
        })),
      makeReady: (id, opened) =>
        Effect.sync(() =>
          this.abandoned.has(id)
            ? Option.none()
            : Option.some(this.keep(anOrder({ id, providerPaymentId: opened.providerPaymentId })))
        ),
      abandon: (id, reason) => Effect.sync(() => void this.abandoned.set(id, reason)),
      abandonStale: () => Effect.sync(() => this.stale),
      find: (id) => Effect.sync(() => this.#stored(id)),
      own: (resellerId, id) =>
        Effect.filterOrFail(
          Effect.orElseFail(
            Effect.suspend(() => this.#stored(id)),
            () => new TopUpNotFound()
          ),
          ({ order }) => order.resellerId === resellerId,
          () => new TopUpNotFound()
        ),
      search: ({ status, olderThan, limit }) =>
        Effect.sync(() =>
          [...this.orders.values()]
            .filter(({ order }) => order.status === status && (olderThan === undefined || order.id < olderThan.id))
            .sort((a, b) => (a.order.id < b.order.id ? 1 : -1))
            .slice(0, limit)
        ),
      recordObservation: (id, what) =>
        this.#noted(
          "record",
          Effect.map(Clock.currentTimeMillis, (now) => {
            const { order } = this.orders.get(id) ?? this.keep(anOrder({ id }))
            const refreshed = decideRefresh(order, what, new Date(now))
            this.keep(refreshed.order)
            return refreshed
          })
        ),
      credit: (id) =>
        this.#noted(
          "credit",
          Effect.map(Clock.currentTimeMillis, (now) => {
            const { order } = this.orders.get(id) ?? this.keep(anOrder({ id }))
            const credited = decideCrediting(order, this.quota, new Date(now))
            if (credited === undefined) return order
            this.quota = credited.quota
            return this.keep(credited.order).order
          })
        ),
      noteRepeated: (provider, { paymentId, originalId }) =>
        Effect.sync(() => {
          const found = [...this.orders.values()].find(
            ({ order }) => order.provider === provider && order.providerPaymentId === originalId
          )
          if (found === undefined) return Option.none()
          const noted = { ...found, repeatedPayments: [...found.repeatedPayments, paymentId] }
          this.orders.set(found.order.id, noted)
          return Option.some(noted)
        }),
      claimDue: ({ providers, limit }) =>
        Effect.sync(() => {
          this.log.push(`claim ${limit} of ${providers.join()}`)
          return this.due.shift() ?? []
        })
    }),
    Layer.sync(PaymentProviders, () => ({
      forMethod: (method) => Option.fromNullable(this.providers.find((provider) => provider.method === method)),
      byLabel: (label) => Option.fromNullable(this.providers.find((provider) => provider.label === label)),
      all: this.providers
    }))
  )

  /** The refresher and its ports, and no logging. */
  readonly layer = PaymentRefresher.layer.pipe(
    Layer.provideMerge(Layer.suspend(() => this.ports)),
    Layer.merge(Logger.remove(Logger.defaultLogger))
  )
}

export const anOpening = (): OpenedPayment => ({
  providerPaymentId: "bsc:0x1",
  instructions: anOrder().instructions,
  expiresAt: anOrder().expiresAt,
  state: { baseline: "0" }
})

export const aWebhook = (reported: Reported) => ({
  verify: () => Effect.succeed(reported),
  acknowledgement: { success: true }
})
