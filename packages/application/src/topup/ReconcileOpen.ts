/**
 * Looks at every open order now, due or not, and at the others that are due: for an operator who does not want to wait
 * for the background.
 */
import * as Effect from "effect/Effect"
import { PaymentProviders } from "../ports/PaymentProviders.ts"
import { TopUpOrders } from "../ports/TopUpOrders.ts"
import { PaymentDesk } from "./PaymentDesk.ts"
import { type Swept, sweepTopUps } from "./SweepTopUps.ts"

/** Of each status, the newest. */
const MOST = 1_000
const AT_A_TIME = 8

export const reconcileOpen: Effect.Effect<Swept, never, TopUpOrders | PaymentProviders | PaymentDesk> = Effect.gen(
  function* () {
    const { search } = yield* TopUpOrders
    const { byLabel } = yield* PaymentProviders
    const desk = yield* PaymentDesk
    const found = yield* Effect.forEach(["crediting", "pending"] as const, (status) =>
      search({ resellerId: undefined, status, limit: MOST })
    )
    // An order of a provider that is not there can only be credited, when it is paid already.
    const open = found
      .flat()
      .filter(({ order }) => order.status === "crediting" || byLabel(order.provider)._tag === "Some")
    const seen = yield* Effect.forEach(open, desk.look, { concurrency: AT_A_TIME })
    const credited = seen.filter(({ status }) => status === "credited").length
    const swept = yield* sweepTopUps
    return { looked: open.length + swept.looked, credited: credited + swept.credited }
  }
)
