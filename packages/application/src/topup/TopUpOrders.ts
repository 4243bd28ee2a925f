/**
 * The store of top-up orders. Only this store credits quota for them.
 *
 * Each method is one transaction. No request to a provider is made inside a transaction.
 */
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { Refreshed } from "@tollgate/domain/topup/Refresh"
import type {
  OrderId,
  TopUpDraft,
  TopUpNotFound,
  TopUpOrder,
  TopUpStatus,
  TopUpTerms
} from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import type { Page } from "@tollgate/domain/validation/Page"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { OpenedPayment, RepeatedPayment } from "./PaymentProviders.ts"

export interface NewTopUp extends TopUpTerms {
  readonly resellerId: ResellerId
  readonly provider: string
  readonly simulated: boolean
  readonly needsDepositIndex: boolean
}

export interface Payer {
  readonly name: string
  readonly email: Email
}

/** An order with the data that provider requests need. */
export interface StoredTopUp {
  readonly order: TopUpOrder
  readonly payer: Payer
  /** The `state` of the `OpenedPayment`. */
  readonly providerState: unknown
  /** The payment references stored by {@link TopUpOrders.noteRepeated}. */
  readonly repeatedPayments: ReadonlyArray<string>
}

export interface AbandonedTopUp {
  readonly draft: TopUpDraft
  readonly payer: Payer
}

export interface TopUpList {
  readonly topUps: ReadonlyArray<TopUpOrder>
  /** The number of the reseller's orders on all pages. */
  readonly total: number
}

/** The filter of an operator's search: at most `limit` orders, newest first. */
export interface TopUpFilter {
  readonly resellerId: ResellerId | undefined
  readonly status: TopUpStatus | undefined
  /** The last order of the previous page: only orders after it are returned. */
  readonly olderThan?: Pick<TopUpOrder, "createdAt" | "id"> | undefined
  readonly limit: number
}

export class TopUpOrders extends Context.Tag("@tollgate/application/TopUpOrders")<
  TopUpOrders,
  {
    /** Writes an invisible row (`creating`) with an id, a time and, where needed, a deposit index never used before. */
    readonly draft: (topUp: NewTopUp) => Effect.Effect<TopUpDraft>
    /**
     * Changes a draft from `creating` to `ready` and `pending`: the order becomes visible. None if it is no longer
     * `creating`.
     */
    readonly makeReady: (id: OrderId, opened: OpenedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Changes a draft from `creating` to `abandoned`, with a reason for operators. Any other state is left unchanged.
     */
    readonly abandon: (id: OrderId, reason: string) => Effect.Effect<void>
    /** Abandons drafts that are older, because their node died. Returns each draft to one caller only. */
    readonly abandonStale: (olderThan: Duration.Duration) => Effect.Effect<ReadonlyArray<AbandonedTopUp>>

    /** Returns a `ready` order of this reseller. An order of another reseller is not found. */
    readonly own: (resellerId: ResellerId, id: OrderId) => Effect.Effect<StoredTopUp, TopUpNotFound>
    /** Returns a page of this reseller's `ready` orders (newest first, then by id) and their total, in one snapshot. */
    readonly list: (resellerId: ResellerId, page: Page) => Effect.Effect<TopUpList>
    /** Returns a `ready` order of any reseller. */
    readonly find: (id: OrderId) => Effect.Effect<Option.Option<StoredTopUp>>
    /** Returns `ready` orders of all resellers, for operators. */
    readonly search: (filter: TopUpFilter) => Effect.Effect<ReadonlyArray<StoredTopUp>>

    /**
     * Records an observation: locks the row, applies `decideRefresh` at the database time, and writes the order and the
     * time of its next refresh (`nextRefreshAt`). Never credits.
     */
    readonly recordObservation: (id: OrderId, observation: PaymentObservation) => Effect.Effect<Refreshed>
    /**
     * Credits a `crediting` order: locks the row, then the reseller's quota account, applies `decideCrediting` at the
     * database time, and writes order, account and transfer. Concurrent calls credit an order once: the lock serializes
     * them, and the pair (topup, order id) is unique in the transfers. An order that is not `crediting` is returned
     * unchanged.
     */
    readonly credit: (id: OrderId) => Effect.Effect<TopUpOrder>
    /**
     * Stores a repeated payment with the order of the original payment and makes that order due, so that the provider
     * is asked about both payments. An order keeps at most 20 repeated payments. None if no order with this provider
     * label has the original payment.
     */
    readonly noteRepeated: (provider: string, repeated: RepeatedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Claims orders that are due for a refresh (database time), the longest due first, under a lease: until the lease
     * ends, no other call returns them; afterwards they are due again unless an observation was recorded. Locks with
     * `FOR UPDATE SKIP LOCKED`. Returns only orders whose provider label is in `providers`, and `crediting` orders paid
     * with real money.
     */
    readonly claimDue: (claim: {
      readonly providers: ReadonlyArray<string>
      readonly limit: number
      readonly lease: Duration.Duration
    }) => Effect.Effect<ReadonlyArray<StoredTopUp>>
  }
>() {}
