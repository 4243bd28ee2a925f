/**
 * Looks at orders without anybody asking, so that a payment is credited when its payer has long closed the page (gap
 * D10). Any number of nodes may do so at once: an order is looked at by one of them.
 */
import type { TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { PaymentProviders } from "../ports/PaymentProviders.ts"
import { type StoredTopUp, TopUpOrders } from "../ports/TopUpOrders.ts"
import { PaymentDesk } from "./PaymentDesk.ts"
import { takeBackPayment } from "./TakeBackPayment.ts"

/** Longer than a payment takes to open, whatever its provider does. */
const STALE_AFTER = Duration.minutes(2)
const AT_A_TIME = 8
/** A batch is looked at within the lease even when every provider takes as long as it may. */
const BATCH = 40
const LEASE = Duration.seconds(60)
/** Of one round; what is left is due in the next one. */
const MOST_BATCHES = 25

export interface Swept {
  readonly looked: number
  readonly credited: number
}

export const sweepTopUps: Effect.Effect<Swept, never, TopUpOrders | PaymentProviders | PaymentDesk> = Effect.gen(
  function* () {
    const orders = yield* TopUpOrders
    const providers = (yield* PaymentProviders).all.map(({ label }) => label)
    const abandoned = yield* orders.abandonStale(STALE_AFTER)
    yield* Effect.forEach(abandoned, ({ draft, payer }) => takeBackPayment(draft, payer), {
      concurrency: AT_A_TIME,
      discard: true
    })

    let looked = 0
    let credited = 0
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const due = yield* orders.claimDue({ providers, limit: BATCH, lease: LEASE })
      const seen = yield* Effect.forEach(due, look, { concurrency: AT_A_TIME })
      looked += due.length
      credited += seen.filter((order) => Option.exists(order, ({ status }) => status === "credited")).length
      if (due.length < BATCH) break
    }
    return { looked, credited }
  }
)

/** One order that cannot be looked at must not keep the others waiting. */
const look = (stored: StoredTopUp): Effect.Effect<Option.Option<TopUpOrder>, never, PaymentDesk> =>
  PaymentDesk.pipe(
    Effect.flatMap((desk) => desk.look(stored)),
    Effect.asSome,
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logError("a top-up could not be looked at", { order: stored.order.id }, cause), Option.none())
    )
  )

/** Never ends; a round that fails is logged, and the next one tries again. */
export const keepTopUps = (every: Duration.Duration = Duration.seconds(30)) =>
  sweepTopUps.pipe(
    Effect.tap(({ credited }) =>
      credited > 0 ? Effect.logInfo("credited top-ups nobody asked about", { credited }) : Effect.void
    ),
    Effect.catchAllCause((cause) => Effect.logError("the sweep of top-ups failed", cause)),
    Effect.repeat(Schedule.spaced(every))
  )
