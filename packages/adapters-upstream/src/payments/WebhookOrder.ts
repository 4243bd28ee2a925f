/**
 * The order that a signed webhook names. One that names none of ours is as good as unsigned.
 */
import { type OrderNumber, orderIdOf, orderNumberOf } from "@tollgate/domain/topup/OrderId"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

export const namedOrder = (text: string): Either.Either<OrderNumber, "no order of ours"> =>
  Either.fromOption(Option.map(orderIdOf(text), orderNumberOf), () => "no order of ours" as const)
