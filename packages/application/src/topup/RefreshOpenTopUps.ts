/**
 * Looks at every open order now, due or not, and at the others that are due: for an operator who does not want to wait
 * for the background.
 */
import type { OrderId } from "@tollgate/domain/topup/OrderId"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { PaymentProviders } from "./PaymentProviders.ts"
import type { PaymentRefresher } from "./PaymentRefresher.ts"
import { providerOf } from "./ProviderOfTopUp.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"
import { lookAtAll, nothingSwept, type Swept, sweepBeside, together } from "./TopUpRefresh.ts"

const PAGE = 200

export interface ReconciledOpen extends Swept {
  /** Open orders of real money whose provider is not set up here: nobody can be asked about them. */
  readonly unasked: number
}

export const reconcileOpen: Effect.Effect<ReconciledOpen, never, TopUpOrders | PaymentProviders | PaymentRefresher> =
  Effect.gen(function* () {
    const { search } = yield* TopUpOrders
    const lookedAt = new Set<OrderId>()
    let swept = nothingSwept
    let unasked = 0
    for (const status of ["crediting", "pending"] as const) {
      let older: StoredTopUp["order"] | undefined
      do {
        const page = yield* search({ resellerId: undefined, status, olderThan: older, limit: PAGE })
        const [others, ours] = yield* Effect.partition(page, askable)
        unasked += others.filter(({ order }) => !order.simulated).length
        for (const { order } of ours) lookedAt.add(order.id)
        swept = together(swept, yield* lookAtAll(ours))
        older = page.length < PAGE ? undefined : page.at(-1)?.order
      } while (older !== undefined)
    }
    return { ...together(swept, yield* sweepBeside(lookedAt)), unasked }
  })

/** One whose provider is not there can only be credited, when it is paid already and real. */
const askable = (stored: StoredTopUp): Effect.Effect<StoredTopUp, StoredTopUp, PaymentProviders> =>
  Effect.flatMap(providerOf(stored.order), (provider) =>
    Option.isSome(provider) || (stored.order.status === "crediting" && !stored.order.simulated)
      ? Effect.succeed(stored)
      : Effect.fail(stored)
  )
