/**
 * Refreshes orders in batches. In the background, the due orders are refreshed, so that a payment is credited even if
 * the payer has closed the page (docs/reference/reseller.md#d10). For an operator, the `crediting` and `pending` orders
 * that are not due are refreshed too.
 *
 * Several nodes can refresh orders concurrently: a claim gives each due order to one node at a time.
 */
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { cancelAbandonedPayment } from "./OpenPayment.ts"
import { providerOf } from "./OrderPayment.ts"
import { OrderPayments } from "./OrderPayments.ts"
import { PaymentProviders } from "./PaymentProviders.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

/** The age at which a draft becomes stale. It is much longer than the timeout for opening a payment (20 seconds). */
const STALE_AFTER = Duration.minutes(2)
const BATCH_CONCURRENCY = 8
/**
 * The number of orders in a batch. A batch ends within `LEASE`, even if every provider request runs into its timeout.
 */
const BATCH_SIZE = 40
const LEASE = Duration.seconds(60)
/** The maximum number of batches per round. The remaining orders stay due for the next round. */
const MAX_BATCHES = 25
const PAGE_SIZE = 200

export interface RefreshCounts {
  /** The number of orders that the run tried to refresh. */
  readonly attempted: number
  /**
   * The number of the attempted orders whose payment was read from the provider, or whose refresh needed no provider.
   */
  readonly refreshed: number
  /** The number of the attempted orders that became `credited` during this run. */
  readonly credited: number
}

export interface OpenRefreshCounts extends RefreshCounts {
  /** The number of real-money orders that are not refreshed, because their provider is not configured. */
  readonly withoutProvider: number
}

const NONE: RefreshCounts = { attempted: 0, refreshed: 0, credited: 0 }

const sum = (a: RefreshCounts, b: RefreshCounts): RefreshCounts => ({
  attempted: a.attempted + b.attempted,
  refreshed: a.refreshed + b.refreshed,
  credited: a.credited + b.credited
})

/** Abandons stale drafts and cancels their payments, then refreshes batches of due orders, except those in `done`. */
export const refreshDue = (
  done: ReadonlySet<OrderId> = new Set()
): Effect.Effect<RefreshCounts, never, TopUpOrders | PaymentProviders | OrderPayments> =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const providers = (yield* PaymentProviders).all.map(({ label }) => label)
    const abandoned = yield* orders.abandonStale(STALE_AFTER)
    yield* Effect.forEach(abandoned, ({ draft, payer }) => cancelAbandonedPayment(draft, payer), {
      concurrency: BATCH_CONCURRENCY,
      discard: true
    })

    let counts = NONE
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const due = yield* orders.claimDue({ providers, limit: BATCH_SIZE, lease: LEASE })
      counts = sum(counts, yield* refreshAll(due.filter(({ order }) => !done.has(order.id))))
      if (due.length < BATCH_SIZE) break
    }
    return counts
  })

/** Refreshes every `crediting` and `pending` order that can be refreshed, due or not, and then the other due orders. */
export const refreshOpen: Effect.Effect<OpenRefreshCounts, never, TopUpOrders | PaymentProviders | OrderPayments> =
  Effect.gen(function* () {
    const { search } = yield* TopUpOrders
    const done = new Set<OrderId>()
    let counts = NONE
    let withoutProvider = 0
    for (const status of ["crediting", "pending"] as const) {
      let last: StoredTopUp["order"] | undefined
      do {
        const page = yield* search({ resellerId: undefined, status, olderThan: last, limit: PAGE_SIZE })
        const [others, refreshable] = yield* Effect.partition(page, requireRefreshable)
        withoutProvider += others.filter(({ order }) => !order.simulated).length
        for (const { order } of refreshable) done.add(order.id)
        counts = sum(counts, yield* refreshAll(refreshable))
        last = page.length < PAGE_SIZE ? undefined : page.at(-1)?.order
      } while (last !== undefined)
    }
    return { ...sum(counts, yield* refreshDue(done)), withoutProvider }
  })

/**
 * Succeeds if the order can be refreshed: its provider is configured, or the order is `crediting` and only has to be
 * credited. A simulated order needs its provider in every case.
 */
const requireRefreshable = (stored: StoredTopUp): Effect.Effect<StoredTopUp, StoredTopUp, PaymentProviders> =>
  Effect.flatMap(providerOf(stored.order), (provider) =>
    Option.isSome(provider) || (stored.order.status === "crediting" && !stored.order.simulated)
      ? Effect.succeed(stored)
      : Effect.fail(stored)
  )

/** Refreshes orders concurrently. A failed refresh is logged and does not stop the other refreshes. */
const refreshAll = (found: ReadonlyArray<StoredTopUp>): Effect.Effect<RefreshCounts, never, OrderPayments> =>
  Effect.gen(function* () {
    const { refresh } = yield* OrderPayments
    const all = yield* Effect.forEach(
      found,
      (stored) =>
        refresh(stored, "background").pipe(
          Effect.map(({ refreshed, order }) => ({
            attempted: 1,
            refreshed: refreshed ? 1 : 0,
            credited: order.status === "credited" && stored.order.status !== "credited" ? 1 : 0
          })),
          Effect.catchAllCause((cause) =>
            Effect.as(Effect.logError("a top-up could not be refreshed", { order: stored.order.id }, cause), {
              ...NONE,
              attempted: 1
            })
          )
        ),
      { concurrency: BATCH_CONCURRENCY }
    )
    return all.reduce(sum, NONE)
  })
