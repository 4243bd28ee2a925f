/**
 * Whoever takes payments for top-ups. Each provider is asked in its own wire; what it says comes back in ours.
 */

import type { Idr } from "@tollgate/domain/money/Idr"
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentInstructions, PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { OrderId, OrderNumber } from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** What is to be paid: rupiah for the QRIS methods, dollars in tokens for the others. */
export type AmountDue =
  | { readonly _tag: "Rupiah"; readonly totalIdr: Idr }
  | { readonly _tag: "Dollars"; readonly amountUsdMicro: UsdMicro; readonly tokenKind: TokenKind }

/** A payment to be made; the same for as long as the order lives. */
export interface PaymentIntent {
  readonly orderId: OrderId
  /** Our reference at every provider. */
  readonly orderNumber: OrderNumber
  readonly method: PaymentMethod
  readonly due: AmountDue
  readonly payer: { readonly name: string; readonly email: Email }
  /** A number no other order has or will have; present where the provider asks for one. */
  readonly depositIndex: number | undefined
  readonly createdAt: Date
}

/** A payment as the provider opened it. */
export interface OpenedPayment {
  /** The provider's reference; of several payments for one order all of them, with commas between. */
  readonly providerPaymentId: string
  readonly instructions: PaymentInstructions
  readonly expiresAt: Date
  /** What the provider's adapter needs to ask again, as JSON; opaque to everybody else. */
  readonly state: unknown
  /** Payments that came since and repeat one of these, as the provider has told us: its references. */
  readonly repeatedPayments?: ReadonlyArray<string>
}

/**
 * The provider cannot be used now. `detail` is for the log only.
 */
export class ProviderUnavailable extends Schema.TaggedError<ProviderUnavailable>()("ProviderUnavailable", {
  provider: Schema.String,
  kind: Schema.Literal(
    "not_configured",
    "network",
    "timeout",
    "rate_limited",
    "server_error",
    "bad_response",
    "unauthorized",
    "rejected"
  ),
  /** The provider may have opened the payment all the same. */
  ambiguous: Schema.Boolean,
  detail: Schema.String
}) {}

/** The provider does not take an amount of this size. */
export class AmountRejected extends Schema.TaggedError<AmountRejected>()("AmountRejected", {
  provider: Schema.String,
  detail: Schema.String
}) {}

/** A webhook that was not signed by the provider. */
export class BadSignature extends Schema.TaggedError<BadSignature>()("BadSignature", { provider: Schema.String }) {}

/** A payment that repeats an earlier one, by the provider's references for both. */
export interface RepeatedPayment {
  readonly paymentId: string
  readonly originalId: string
}

/** What a genuine webhook is about, where it says so. It carries no truth besides. */
export interface Reported {
  /** As it stands there: perhaps of no order of ours. */
  readonly orderNumber?: string | undefined
  readonly repeated?: RepeatedPayment | undefined
}

export interface PaymentWebhook {
  /** Whatever it is about, once its signature over the raw bytes was found right. */
  readonly verify: (
    headers: Readonly<Record<string, string | undefined>>,
    body: Uint8Array
  ) => Effect.Effect<Reported, BadSignature>
  /** What the provider wants to hear, as JSON. */
  readonly acknowledgement: unknown
}

export interface PaymentProvider {
  /** As orders store it and responses show it, for example `midtrans`, `midtrans-simulator`. */
  readonly label: string
  /** Of the provider, in the path of its webhooks: `midtrans`. */
  readonly name: string
  /** Not real money: talks to a simulator. */
  readonly simulated: boolean
  readonly method: PaymentMethod
  readonly needsDepositIndex: boolean
  /** Whether settings and provider fit together; asked at start and by `doctor`. */
  readonly probe: Effect.Effect<void, ProviderUnavailable>
  readonly open: (intent: PaymentIntent) => Effect.Effect<OpenedPayment, ProviderUnavailable | AmountRejected>
  /** Answers within seconds, or fails. */
  readonly refresh: (
    intent: PaymentIntent,
    opened: OpenedPayment
  ) => Effect.Effect<PaymentObservation, ProviderUnavailable>
  /** Takes a payment back that may have been opened without our hearing of it; best effort. */
  readonly cancel: ((intent: PaymentIntent) => Effect.Effect<void, ProviderUnavailable>) | undefined
  readonly webhook: PaymentWebhook | undefined
}

export class PaymentProviders extends Context.Tag("@tollgate/application/PaymentProviders")<
  PaymentProviders,
  {
    /** Who takes new payments of this method. */
    readonly forMethod: (method: PaymentMethod) => Option.Option<PaymentProvider>
    /** Who opened an earlier payment: an order stays with its provider. */
    readonly byLabel: (label: string) => Option.Option<PaymentProvider>
    readonly all: ReadonlyArray<PaymentProvider>
  }
>() {}
