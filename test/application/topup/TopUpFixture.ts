/**
 * A payment provider whose responses a test sets, and a store of orders in memory. The store uses the decisions of the
 * domain; the locks of the real store are tested with Postgres.
 */

import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import {
  type AmountRejected,
  type OpenedPayment,
  type PaymentNotification,
  type PaymentProvider,
  PaymentProviders,
  type ProviderUnavailable
} from "@tollgate/application/topup/PaymentProviders"
import {
  type AbandonedTopUp,
  type EarlierTopUp,
  OperationUsed,
  type StoredTopUp,
  TopUpOrders
} from "@tollgate/application/topup/TopUpOrders"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { decideCrediting, decideRefresh } from "@tollgate/domain/topup/Refresh"
import { type OrderId, type TopUpDraft, TopUpNotFound, type TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import { Clock, Effect, Layer, Logger, Option } from "effect"
import { anOrder, aQuota, aReseller } from "../../support/resellers.ts"

export const anObservation = (tag: "Pending" | "Paid" | "Expired"): PaymentObservation =>
  tag === "Paid" ? { _tag: tag, received: undefined, paidAt: undefined } : { _tag: tag, received: undefined }

export class TopUpFixture {
  readonly orders = new Map<OrderId, StoredTopUp>()
  readonly drafts = new Map<OperationId, TopUpDraft>()
  readonly abandoned = new Map<OrderId, string>()
  /** The batches of due orders, one per call of `claimDue`. */
  readonly due: Array<ReadonlyArray<StoredTopUp>> = []
  stale: ReadonlyArray<AbandonedTopUp> = []
  /** The calls `refresh`, `open`, `cancel`, `record`, `credit` and `claim`, in the order in which they begin. */
  readonly log: Array<string> = []
  quota = aQuota(0n)
  /** Runs before the store reads an order. */
  reading: Effect.Effect<void> = Effect.void

  response: Effect.Effect<PaymentObservation, ProviderUnavailable> = Effect.succeed(anObservation("Pending"))
  opening: Effect.Effect<OpenedPayment, ProviderUnavailable | AmountRejected> = Effect.succeed(anOpening())
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
        this.#logged(
          "open",
          Effect.suspend(() => this.opening)
        ),
      refresh: () =>
        this.#logged(
          "refresh",
          Effect.suspend(() => this.response)
        ),
      cancel: ({ orderNumber }) => this.#logged(`cancel ${orderNumber}`, Effect.void),
      webhook: undefined,
      ...facts
    }
  }

  store(order: TopUpOrder): StoredTopUp {
    const stored = {
      order,
      payer: { name: aReseller().name, email: aReseller().email },
      providerState: {},
      repeatedPayments: []
    }
    this.orders.set(order.id, stored)
    return stored
  }

  count(call: string): number {
    return this.log.filter((logged) => logged === call).length
  }

  #logged<A, E>(call: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.zipRight(
      Effect.sync(() => this.log.push(call)),
      effect
    )
  }

  #stored(id: OrderId) {
    return Option.fromNullable(this.orders.get(id))
  }

  #earlier(operationId: OperationId | undefined): Option.Option<EarlierTopUp> {
    const draft = operationId === undefined ? undefined : this.drafts.get(operationId)
    if (operationId === undefined || draft === undefined || this.abandoned.has(draft.id)) return Option.none()
    return Option.some({ operationId, draft, order: this.orders.get(draft.id)?.order })
  }

  readonly ports = Layer.mergeAll(
    Layer.mock(TopUpOrders, {
      draft: ({ needsDepositIndex, operationId, ...topUp }) =>
        Effect.gen(this, function* () {
          const earlier = this.#earlier(operationId)
          if (Option.isSome(earlier)) return yield* new OperationUsed({ earlier: earlier.value })
          const createdAt = new Date(yield* Clock.currentTimeMillis)
          const draft = { ...topUp, id: anOrder().id, depositIndex: needsDepositIndex ? 7 : undefined, createdAt }
          this.abandoned.delete(draft.id)
          if (operationId !== undefined) this.drafts.set(operationId, draft)
          return draft
        }),
      ofOperation: (_, operationId) => Effect.sync(() => this.#earlier(operationId)),
      makeReady: (id, opened) =>
        Effect.sync(() =>
          this.abandoned.has(id)
            ? Option.none()
            : Option.some(this.store(anOrder({ id, providerPaymentId: opened.providerPaymentId })))
        ),
      abandon: (id, reason) => Effect.sync(() => void this.abandoned.set(id, reason)),
      abandonStale: () => Effect.sync(() => this.stale),
      find: (id) => Effect.map(this.reading, () => this.#stored(id)),
      findForReseller: (resellerId, id) =>
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
        this.#logged(
          "record",
          Effect.map(Clock.currentTimeMillis, (now) => {
            const { order } = this.orders.get(id) ?? this.store(anOrder({ id }))
            const refreshed = decideRefresh(order, what, new Date(now))
            this.store(refreshed.order)
            return refreshed
          })
        ),
      credit: (id) =>
        this.#logged(
          "credit",
          Effect.map(Clock.currentTimeMillis, (now) => {
            const { order } = this.orders.get(id) ?? this.store(anOrder({ id }))
            const credited = decideCrediting(order, this.quota, new Date(now))
            if (credited === undefined) return order
            this.quota = credited.quota
            return this.store(credited.order).order
          })
        ),
      noteRepeated: (provider, { paymentId, originalId }) =>
        Effect.sync(() => {
          const found = [...this.orders.values()].find(
            ({ order }) => order.provider === provider && order.providerPaymentId === originalId
          )
          if (found === undefined) return Option.none()
          const updated = { ...found, repeatedPayments: [...found.repeatedPayments, paymentId] }
          this.orders.set(found.order.id, updated)
          return Option.some(updated)
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

  /** Provides `OrderPayments` and its ports, without logging. */
  readonly layer = OrderPayments.layer.pipe(
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

export const aWebhook = (notification: PaymentNotification) => ({
  verify: () => Effect.succeed(notification),
  acknowledgement: { success: true }
})
