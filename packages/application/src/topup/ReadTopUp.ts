/**
 * An order as it is now: its provider is asked first (spec: GET /api/reseller/topup/{orderID} and POST .../check).
 */
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { OrderId, orderIdOf } from "@tollgate/domain/topup/OrderId"
import { TopUpNotFound } from "@tollgate/domain/topup/TopUpErrors"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { PaymentRefresher } from "./PaymentRefresher.ts"
import { TopUpOrders } from "./TopUpOrders.ts"

const readId = Schema.decodeOption(OrderId)

export const reconcileTopUp = (resellerId: ResellerId, orderId: string) =>
  Effect.gen(function* () {
    const id = readId(orderId)
    if (Option.isNone(id)) return yield* new TopUpNotFound()
    const stored = yield* (yield* TopUpOrders).own(resellerId, id.value)
    return yield* (yield* PaymentRefresher).look(stored)
  })

/**
 * The same for an operator: any reseller's order, by id or number, and a credited one too, for which more may have come.
 */
export const reconcileForOperator = (idOrNumber: string) =>
  Effect.gen(function* () {
    const id = Option.orElse(readId(idOrNumber), () => orderIdOf(idOrNumber))
    const stored = Option.isSome(id) ? yield* (yield* TopUpOrders).find(id.value) : Option.none()
    if (Option.isNone(stored)) return yield* new TopUpNotFound()
    return yield* (yield* PaymentRefresher).lookThrough(stored.value)
  })
