/**
 * The store of top-up orders, and the only way in which quota is credited for them.
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

/** An order with the data that a request to its provider needs. */
export interface StoredTopUp {
  readonly order: TopUpOrder
  readonly payer: Payer
  /** `OpenedPayment.state` of the opening. */
  readonly providerState: unknown
  /** Stored by {@link TopUpOrders.noteRepeated}. */
  readonly repeatedPayments: ReadonlyArray<string>
}

export interface AbandonedTopUp {
  readonly draft: TopUpDraft
  readonly payer: Payer
}

export interface TopUpList {
  readonly topUps: ReadonlyArray<TopUpOrder>
  /** The number of all orders of the reseller. */
  readonly total: number
}

/** The search of an operator: newest first, at most `limit`. */
export interface TopUpFilter {
  readonly resellerId: ResellerId | undefined
  readonly status: TopUpStatus | undefined
  /** Only orders that follow this one in the list: the next page. */
  readonly olderThan?: Pick<TopUpOrder, "createdAt" | "id"> | undefined
  readonly limit: number
}

export class TopUpOrders extends Context.Tag("@tollgate/application/TopUpOrders")<
  TopUpOrders,
  {
    /** Writes an invisible row (`creating`) with an id, a time and, where needed, a deposit index never used before. */
    readonly draft: (topUp: NewTopUp) => Effect.Effect<TopUpDraft>
    /** `creating` -> `ready`, `pending`: the order becomes visible. None if it is no longer `creating`. */
    readonly makeReady: (id: OrderId, opened: OpenedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /** `creating` -> `abandoned`, with the reason for operators. Another state does not change. */
    readonly abandon: (id: OrderId, reason: string) => Effect.Effect<void>
    /** Abandons drafts that are older than this, because their node died. Each is returned to one caller only. */
    readonly abandonStale: (olderThan: Duration.Duration) => Effect.Effect<ReadonlyArray<AbandonedTopUp>>

    /** A `ready` order of this reseller. An order of another reseller is not found. */
    readonly own: (resellerId: ResellerId, id: OrderId) => Effect.Effect<StoredTopUp, TopUpNotFound>
    /** A page of this reseller's `ready` orders, newest first by creation, then by id, with their total; one snapshot. */
    readonly list: (resellerId: ResellerId, page: Page) => Effect.Effect<TopUpList>
    /** A `ready` order of any reseller. */
    readonly find: (id: OrderId) => Effect.Effect<Option.Option<StoredTopUp>>
    /** `ready` orders of all resellers, for operators. */
    readonly search: (filter: TopUpFilter) => Effect.Effect<ReadonlyArray<StoredTopUp>>

    /**
     * Records an observation: locks the row, applies `decideRefresh` at the database's clock, writes the order and
     * when it is next due (`nextRefreshAt`). Never credits.
     */
    readonly recordObservation: (id: OrderId, observation: PaymentObservation) => Effect.Effect<Refreshed>
    /**
     * Credits a `crediting` order: locks the row, then the reseller's quota account, applies `decideCrediting` at the
     * database's clock, and writes order, account and transfer. Concurrent calls credit an order once: the lock
     * serializes them, and (topup, order id) is unique among transfers. An order that is not `crediting` is returned
     * unchanged.
     */
    readonly credit: (id: OrderId) => Effect.Effect<TopUpOrder>
    /**
     * Stores the payment with the order whose payment it repeats, and makes the order due, so that its provider is asked
     * about both. An order keeps 20 of them. None if no order of this provider's label has the original payment.
     */
    readonly noteRepeated: (provider: string, repeated: RepeatedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Claims orders that are due for a refresh, oldest first, under a lease: until it ends no other call returns them,
     * and if nothing was recorded they are due again afterwards. `FOR UPDATE SKIP LOCKED`, by the database's clock. Only
     * orders whose provider's label is in `providers`, and `crediting` orders of real money.
     */
    readonly claimDue: (claim: {
      readonly providers: ReadonlyArray<string>
      readonly limit: number
      readonly lease: Duration.Duration
    }) => Effect.Effect<ReadonlyArray<StoredTopUp>>
  }
>() {}
