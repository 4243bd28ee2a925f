/**
 * Declares the store of top-up orders. Only this store credits the quota of an order.
 *
 * Each method runs one transaction. No request to a provider is made inside a transaction.
 */
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { Refreshed } from "@tollgate/domain/topup/Refresh"
import type {
  OrderId,
  TooManyUnpaidOrders,
  TopUpDraft,
  TopUpNotFound,
  TopUpOrder,
  TopUpStatus,
  TopUpTerms
} from "@tollgate/domain/topup/TopUpOrder"
import type { TimeRange } from "@tollgate/domain/validation/Days"
import type { Email } from "@tollgate/domain/validation/Email"
import type { Page } from "@tollgate/domain/validation/Page"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { OpenedPayment, RepeatedPayment } from "./PaymentProviders.ts"

export interface NewTopUp extends TopUpTerms {
  readonly resellerId: ResellerId
  /** The id that the reseller chose for the order; undefined if the reseller chose none. */
  readonly operationId: OperationId | undefined
  readonly provider: string
  readonly simulated: boolean
  readonly needsDepositIndex: boolean
}

export interface Payer {
  readonly name: string
  readonly email: Email
}

/** An order with the data for requests to its provider. */
export interface StoredTopUp {
  readonly order: TopUpOrder
  readonly payer: Payer
  /** The `state` of the `OpenedPayment`. */
  readonly providerState: unknown
  /** The payment references stored by {@link TopUpOrders.noteRepeated}. */
  readonly repeatedPayments: ReadonlyArray<string>
}

/** The order of an earlier request with the same operation id. */
export interface EarlierTopUp {
  readonly operationId: OperationId
  readonly draft: TopUpDraft
  /** Undefined while the payment is being opened. */
  readonly order: TopUpOrder | undefined
}

/** The reseller already has an order with this operation id. */
export class OperationUsed extends Data.TaggedError("OperationUsed")<{ readonly earlier: EarlierTopUp }> {}

export interface AbandonedTopUp {
  readonly draft: TopUpDraft
  readonly payer: Payer
}

export interface TopUpList {
  readonly topUps: ReadonlyArray<TopUpOrder>
  /** The number of the reseller's orders on all pages. */
  readonly total: number
}

/** The filter of a search: at most `limit` orders, newest first. */
export interface TopUpFilter {
  readonly resellerId: ResellerId | undefined
  readonly status: TopUpStatus | undefined
  /** If true, the search returns only orders with an anomaly (`anomaliesOf`). */
  readonly flagged?: boolean | undefined
  /** The range of the creation time. */
  readonly range?: TimeRange | undefined
  /** The last order of the previous page. Only orders that follow this order are returned. */
  readonly olderThan?: Pick<TopUpOrder, "createdAt" | "id"> | undefined
  readonly limit: number
}

export class TopUpOrders extends Context.Tag("@tollgate/application/TopUpOrders")<
  TopUpOrders,
  {
    /**
     * Stores a draft (`creating`) with a new id, its creation time and, if needed, an unused deposit index. Locks the
     * reseller and applies `decideNewOrder` to its unpaid orders at the database time. Therefore concurrent calls on
     * all nodes together never exceed the maximum, and only one call creates the order of an operation id.
     */
    readonly draft: (topUp: NewTopUp) => Effect.Effect<TopUpDraft, TooManyUnpaidOrders | OperationUsed>
    /** Returns the order of this reseller with the operation id, unless the order is abandoned. */
    readonly ofOperation: (
      resellerId: ResellerId,
      operationId: OperationId
    ) => Effect.Effect<Option.Option<EarlierTopUp>>
    /**
     * Makes a draft visible: changes its provision state from `creating` to `ready`, and sets its status to `pending`.
     * Returns none if the draft is not `creating`.
     */
    readonly makeReady: (id: OrderId, opened: OpenedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Changes a draft from `creating` to `abandoned`, with a reason for operators. Changes no order in another state.
     */
    readonly abandon: (id: OrderId, reason: string) => Effect.Effect<void>
    /**
     * Abandons a batch of drafts older than `olderThan`: their node died, or opening their payment took too long.
     * Returns each draft to only one caller.
     */
    readonly abandonStale: (olderThan: Duration.Duration) => Effect.Effect<ReadonlyArray<AbandonedTopUp>>

    /** Returns a `ready` order of this reseller. An order of another reseller is not found. */
    readonly findForReseller: (resellerId: ResellerId, id: OrderId) => Effect.Effect<StoredTopUp, TopUpNotFound>
    /** Returns a page of this reseller's `ready` orders (newest first, then by id) and their total, in one snapshot. */
    readonly list: (resellerId: ResellerId, page: Page) => Effect.Effect<TopUpList>
    /** Returns a `ready` order of any reseller. */
    readonly find: (id: OrderId) => Effect.Effect<Option.Option<StoredTopUp>>
    /** Returns `ready` orders of all resellers or of one reseller. */
    readonly search: (filter: TopUpFilter) => Effect.Effect<ReadonlyArray<StoredTopUp>>

    /**
     * Records an observation: locks the row, applies `decideRefresh` at the database time, and writes the order and the
     * time of its next refresh (`nextRefreshAt`). Never credits.
     */
    readonly recordObservation: (id: OrderId, observation: PaymentObservation) => Effect.Effect<Refreshed>
    /**
     * Credits a `crediting` order. Locks the order and then the reseller's quota account, applies `decideCrediting` at
     * the database time, and writes order, account, transfer and webhook event. Concurrent calls credit an order once,
     * because they wait for the lock and because the pair (topup, order id) is unique in the transfers. An order that
     * is not `crediting` is returned unchanged.
     */
    readonly credit: (id: OrderId) => Effect.Effect<TopUpOrder>
    /**
     * Stores a repeated payment with the order of the original payment, and makes that order due for a refresh. The
     * next refresh then reads the repeated payment too. An order stores at most 20 repeated payments. Returns none if
     * no order with this provider label has the original payment.
     */
    readonly noteRepeated: (provider: string, repeated: RepeatedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Claims orders that are due for a refresh at the database time, the longest due first. Each claimed order has a
     * lease: its next due time is the end of the lease, so no other call returns the order before. A refresh sets
     * another due time, which can be earlier, and {@link noteRepeated} makes the order due immediately. Returns an
     * order only if its provider label is in `providers`, or if it is `crediting` and was paid with real money. Skips
     * rows that another transaction has locked.
     */
    readonly claimDue: (claim: {
      readonly providers: ReadonlyArray<string>
      readonly limit: number
      readonly lease: Duration.Duration
    }) => Effect.Effect<ReadonlyArray<StoredTopUp>>
  }
>() {}
