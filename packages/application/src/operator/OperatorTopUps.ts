/**
 * Shows and refreshes top-up orders for operators. An order is named by its id, or by the order number that payers and
 * payment providers see, in upper or lower case.
 */
import { orderIdNamed, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SingleFlight from "../operations/SingleFlight.ts"
import { OrderPayments } from "../topup/OrderPayments.ts"
import type { PaymentProviders } from "../topup/PaymentProviders.ts"
import { type OpenRefreshCounts, refreshOpen } from "../topup/RefreshDueOrders.ts"
import { TopUpOrders } from "../topup/TopUpOrders.ts"

/** Returns an order as it is stored. Sends no request to the payment provider. */
export const showTopUpForOperator = (name: string) =>
  Effect.gen(function* () {
    const id = orderIdNamed(name)
    const stored = Option.isSome(id) ? yield* (yield* TopUpOrders).find(id.value) : Option.none()
    return Option.isSome(stored) ? stored.value : yield* new TopUpNotFound()
  })

/** Refreshes an order, even if it is credited. Returns the order, and whether the refresh succeeded. */
export const refreshForOperator = (name: string) =>
  Effect.gen(function* () {
    const stored = yield* showTopUpForOperator(name)
    const { refreshed } = yield* (yield* OrderPayments).refresh(stored, "operator")
    return { refreshed, stored: yield* showTopUpForOperator(name) }
  })

/** Refreshes the open orders and the other due orders for operators. */
export class OpenTopUps extends Context.Tag("@tollgate/application/OpenTopUps")<
  OpenTopUps,
  {
    /**
     * Runs `refreshOpen`. Concurrent callers on one node share one run. The run continues if the callers disconnect.
     */
    readonly refresh: Effect.Effect<OpenRefreshCounts>
  }
>() {
  static readonly layer: Layer.Layer<OpenTopUps, never, TopUpOrders | PaymentProviders | OrderPayments> = Layer.scoped(
    OpenTopUps,
    Effect.map(
      SingleFlight.make<"refresh", OpenRefreshCounts, never, TopUpOrders | PaymentProviders | OrderPayments>(1),
      (refreshes) => ({
        refresh: refreshes.run(
          "refresh",
          () => refreshOpen,
          Effect.dieMessage("a refresh of all orders has a key other than `refresh`")
        )
      })
    )
  )
}
