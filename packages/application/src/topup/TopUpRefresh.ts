/**
 * Looks at orders without anybody asking, so that a payment is credited when its payer has long closed the page (gap
 * D10). Any number of nodes may do so at once: an order is looked at by one of them.
 */
import type { OrderId } from "@tollgate/domain/topup/OrderId"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { cancelOrphanedPayment } from "./CancelOrphanedPayment.ts"
import { PaymentProviders } from "./PaymentProviders.ts"
import { PaymentRefresher } from "./PaymentRefresher.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

/** Longer than a payment takes to open, whatever its provider does. */
const STALE_AFTER = Duration.minutes(2)
const AT_A_TIME = 8
/** A batch is looked at within the lease even when every provider takes as long as it may. */
const BATCH = 40
const LEASE = Duration.seconds(60)
/** Of one round; what is left is due in the next one. */
const MOST_BATCHES = 25

/** What became of the orders that were looked at. */
export interface Swept {
  readonly looked: number
  /** Of these, whose provider answered, or needed not to be asked. The others are as they were stored. */
  readonly answered: number
  /** Of these, credited now. */
  readonly credited: number
}

export const nothingSwept: Swept = { looked: 0, answered: 0, credited: 0 }

export const together = (a: Swept, b: Swept): Swept => ({
  looked: a.looked + b.looked,
  answered: a.answered + b.answered,
  credited: a.credited + b.credited
})

export const sweepTopUps: Effect.Effect<Swept, never, TopUpOrders | PaymentProviders | PaymentRefresher> =
  Effect.suspend(() => sweepBeside(new Set()))

/** Looks at what is due, but for the orders of these, which were looked at just now. */
export const sweepBeside = (
  lookedAt: ReadonlySet<OrderId>
): Effect.Effect<Swept, never, TopUpOrders | PaymentProviders | PaymentRefresher> =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const providers = (yield* PaymentProviders).all.map(({ label }) => label)
    const abandoned = yield* orders.abandonStale(STALE_AFTER)
    yield* Effect.forEach(abandoned, ({ draft, payer }) => cancelOrphanedPayment(draft, payer), {
      concurrency: AT_A_TIME,
      discard: true
    })

    let swept = nothingSwept
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const due = yield* orders.claimDue({ providers, limit: BATCH, lease: LEASE })
      swept = together(swept, yield* lookAtAll(due.filter(({ order }) => !lookedAt.has(order.id))))
      if (due.length < BATCH) break
    }
    return swept
  })

/** A few at a time; one that cannot be looked at does not keep the others waiting. */
export const lookAtAll = (found: ReadonlyArray<StoredTopUp>): Effect.Effect<Swept, never, PaymentRefresher> =>
  Effect.map(Effect.forEach(found, lookAtOne, { concurrency: AT_A_TIME }), (all) => all.reduce(together, nothingSwept))

const lookAtOne = (stored: StoredTopUp): Effect.Effect<Swept, never, PaymentRefresher> =>
  PaymentRefresher.pipe(
    Effect.flatMap((desk) => desk.lookThrough(stored)),
    Effect.map(({ answered, order }) => ({
      looked: 1,
      answered: answered ? 1 : 0,
      credited: order.status === "credited" && stored.order.status !== "credited" ? 1 : 0
    })),
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logError("a top-up could not be looked at", { order: stored.order.id }, cause), {
        ...nothingSwept,
        looked: 1
      })
    )
  )

/** Never ends; a round that fails is logged, and the next one tries again. */
export const topUpRefresh = (every: Duration.Duration = Duration.seconds(30)) =>
  sweepTopUps.pipe(
    Effect.tap(({ credited }) =>
      credited > 0 ? Effect.logInfo("credited top-ups nobody asked about", { credited }) : Effect.void
    ),
    Effect.catchAllCause((cause) => Effect.logError("the sweep of top-ups failed", cause)),
    Effect.repeat(Schedule.spaced(every))
  )
