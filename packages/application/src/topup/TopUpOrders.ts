/**
 * The top-up orders, and the only way quota is credited for them.
 *
 * Each method is one transaction. A provider is never asked inside one.
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

/** An order with what a provider needs to be asked about it. */
export interface StoredTopUp {
  readonly order: TopUpOrder
  readonly payer: Payer
  /** `OpenedPayment.state`, as it was when the payment was opened. */
  readonly providerState: unknown
  /** What {@link TopUpOrders.noteRepeated} kept. */
  readonly repeatedPayments: ReadonlyArray<string>
}

export interface AbandonedTopUp {
  readonly draft: TopUpDraft
  readonly payer: Payer
}

export interface TopUpList {
  readonly topUps: ReadonlyArray<TopUpOrder>
  /** All of the reseller's orders, not those of the page. */
  readonly total: number
}

/** What an operator looks for; newest first, at most `limit`. */
export interface TopUpFilter {
  readonly resellerId: ResellerId | undefined
  readonly status: TopUpStatus | undefined
  /** Only those that come after this one: the next page. */
  readonly olderThan?: Pick<TopUpOrder, "createdAt" | "id"> | undefined
  readonly limit: number
}

export class TopUpOrders extends Context.Tag("@tollgate/application/TopUpOrders")<
  TopUpOrders,
  {
    /** Writes a row nobody sees yet (`creating`), with an id, a time and, where needed, a deposit index never used before. */
    readonly draft: (topUp: NewTopUp) => Effect.Effect<TopUpDraft>
    /** `creating` -> `ready`, `pending`: from now on the order is seen. None when it is no longer `creating`. */
    readonly makeReady: (id: OrderId, opened: OpenedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /** `creating` -> `abandoned`, with the reason for operators. Any other state stays. */
    readonly abandon: (id: OrderId, reason: string) => Effect.Effect<void>
    /** Abandons what has been `creating` for longer than this: its node died. Each is returned to one caller only. */
    readonly abandonStale: (olderThan: Duration.Duration) => Effect.Effect<ReadonlyArray<AbandonedTopUp>>

    /** A `ready` order of this reseller. Somebody else's is not found either. */
    readonly own: (resellerId: ResellerId, id: OrderId) => Effect.Effect<StoredTopUp, TopUpNotFound>
    /** A page of this reseller's `ready` orders, newest first by creation, then by id, with their total; one snapshot. */
    readonly list: (resellerId: ResellerId, page: Page) => Effect.Effect<TopUpList>
    /** A `ready` order, whosever it is. */
    readonly find: (id: OrderId) => Effect.Effect<Option.Option<StoredTopUp>>
    /** `ready` orders of all resellers, for operators. */
    readonly search: (filter: TopUpFilter) => Effect.Effect<ReadonlyArray<StoredTopUp>>

    /**
     * Books what a provider said: locks the row, applies `decideRefresh` at the database's clock, writes the order and
     * when it is next due (`nextRefreshAt`). Never credits.
     */
    readonly recordObservation: (id: OrderId, seen: PaymentObservation) => Effect.Effect<Refreshed>
    /**
     * Credits a `crediting` order: locks the row, then the reseller's quota account, applies `decideCrediting` at the
     * database's clock, and writes order, account and transfer. At most one credit an order, however many race: the lock
     * decides, and (topup, order id) is unique among transfers. An order that is not `crediting` comes back as it is.
     */
    readonly credit: (id: OrderId) => Effect.Effect<TopUpOrder>
    /**
     * Keeps the payment with the order whose payment it repeats, and makes the order due: its provider has to be asked
     * about both. An order keeps 20 of them. None when no order of this provider's label has that payment.
     */
    readonly noteRepeated: (provider: string, repeated: RepeatedPayment) => Effect.Effect<Option.Option<StoredTopUp>>
    /**
     * Takes orders that are due for a look, oldest first, and leaves them to the caller for `lease`: no other call
     * returns them meanwhile, and if nothing is observed they are due again afterwards. `FOR UPDATE SKIP LOCKED`, by the
     * database's clock. Only orders whose provider's label is in `providers`, and `crediting` orders of real money.
     */
    readonly claimDue: (ask: {
      readonly providers: ReadonlyArray<string>
      readonly limit: number
      readonly lease: Duration.Duration
    }) => Effect.Effect<ReadonlyArray<StoredTopUp>>
  }
>() {}
