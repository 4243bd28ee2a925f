/**
 * Creates, lists and refreshes top-up orders, with which a reseller buys quota.
 *
 *     terms ─▶ a provider for the method ─▶ draft ─▶ the provider opens the payment ─▶ order
 *
 * The draft is stored before the provider opens the payment. Therefore every opened payment belongs to a stored draft
 * or order.
 */
import type { Reseller, ResellerId } from "@tollgate/domain/reseller/Reseller"
import { OrderId, TopUpNotFound, type TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import {
  decideRepeatedTopUp,
  decideTerms,
  type TopUpBounds,
  type TopUpRequest
} from "@tollgate/domain/topup/TopUpRequest"
import { type PageQuery, readTopUpPage } from "@tollgate/domain/validation/Page"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { unavailable } from "./OpenPayment.ts"
import { OrderPayments } from "./OrderPayments.ts"
import { PaymentProviders } from "./PaymentProviders.ts"
import { type EarlierTopUp, TopUpOrders } from "./TopUpOrders.ts"

/** The minimum and maximum amounts that this deployment accepts. */
export class TopUpPolicy extends Context.Tag("@tollgate/application/TopUpPolicy")<
  TopUpPolicy,
  { readonly bounds: TopUpBounds }
>() {}

export interface CreatedTopUp {
  readonly order: TopUpOrder
  /** True if an earlier request with the same operation id created the order. */
  readonly alreadyApplied: boolean
}

/**
 * Creates an order and opens its payment (docs/reference/reseller.md#top-1). If an earlier request with the same
 * operation id has created the order, returns this order (docs/reference/reseller.md#d13).
 */
export const createTopUp = (reseller: Reseller, request: TopUpRequest) =>
  Effect.gen(function* () {
    const operationId = request.operation_id ?? undefined
    const orders = yield* TopUpOrders
    const earlier = operationId === undefined ? Option.none() : yield* orders.ofOperation(reseller.id, operationId)
    return yield* Option.isSome(earlier) ? orderOfEarlierRequest(request, earlier.value) : openOrder(reseller, request)
  }).pipe(Effect.catchTag("OperationUsed", ({ earlier }) => orderOfEarlierRequest(request, earlier)))

/** Returns the order that an earlier request created. Waits until the payment of this order is opened. */
const orderOfEarlierRequest = (request: TopUpRequest, earlier: EarlierTopUp) =>
  Effect.gen(function* () {
    yield* decideRepeatedTopUp(request, earlier.draft)
    const order = earlier.order ?? (yield* (yield* OrderPayments).awaitOpening(earlier))
    const repeated: CreatedTopUp = { order, alreadyApplied: true }
    return repeated
  })

const openOrder = (reseller: Reseller, request: TopUpRequest) =>
  Effect.gen(function* () {
    const { bounds } = yield* TopUpPolicy
    const terms = yield* decideTerms(request, bounds)
    const found = (yield* PaymentProviders).forMethod(terms.method)
    if (Option.isNone(found)) return yield* unavailable()

    const { label, simulated, needsDepositIndex } = found.value
    const orders = yield* TopUpOrders
    const resellerId = reseller.id
    const operationId = request.operation_id ?? undefined
    const draft = orders.draft({ ...terms, resellerId, operationId, provider: label, simulated, needsDepositIndex })
    const order = yield* (yield* OrderPayments).open(found.value, reseller, draft)
    const created: CreatedTopUp = { order, alreadyApplied: false }
    return created
  })

/**
 * Returns a page of a reseller's orders, newest first. Does not refresh the orders (docs/reference/reseller.md#top-7).
 */
export const listTopUps = (resellerId: ResellerId, query: PageQuery) =>
  Effect.gen(function* () {
    const page = yield* readTopUpPage(query)
    return yield* (yield* TopUpOrders).list(resellerId, page)
  })

const readId = Schema.decodeOption(OrderId)

/**
 * Returns an order after a refresh, or as it is stored if the trigger `reseller` of `OrderPayments` or too many
 * refreshes of this reseller prevent a refresh (docs/reference/reseller.md#top-5).
 */
export const refreshForReseller = (resellerId: ResellerId, orderId: string) =>
  Effect.gen(function* () {
    const id = readId(orderId)
    if (Option.isNone(id)) return yield* new TopUpNotFound()
    const stored = yield* (yield* TopUpOrders).findForReseller(resellerId, id.value)
    const { order } = yield* (yield* OrderPayments).refresh(stored, "reseller")
    return order
  })
