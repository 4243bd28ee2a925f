/**
 * What names a top-up order: its id in our paths, its number everywhere a payment provider sees it.
 */
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const OrderId = Schema.UUID.pipe(Schema.brand("OrderId"))
export type OrderId = typeof OrderId.Type

export const OrderNumber = Schema.TemplateLiteral("RTO-", Schema.String).pipe(Schema.brand("OrderNumber"))
export type OrderNumber = typeof OrderNumber.Type

/** `RTO-` followed by the id (spec: Top-up order). */
export const orderNumberOf = (id: OrderId): OrderNumber => OrderNumber.make(`RTO-${id}`)

const decodeId = Schema.decodeUnknownOption(OrderId)

/** The id in a number as a provider sends it back; none when it is no number of ours. */
export const orderIdOf = (number: string): Option.Option<OrderId> =>
  decodeId(number.startsWith("RTO-") ? number.slice(4).toLowerCase() : undefined)
