/**
 * The payment providers of top-ups. An adapter speaks the protocol of its provider and returns domain types.
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

/** The amount to pay: rupiah for the QRIS methods, dollars in tokens for the others. */
export type AmountDue =
  | { readonly _tag: "Rupiah"; readonly totalIdr: Idr }
  | { readonly _tag: "Dollars"; readonly amountUsdMicro: UsdMicro; readonly tokenKind: TokenKind }

/** A payment to be made. It does not change during the life of an order. */
export interface PaymentIntent {
  readonly orderId: OrderId
  /** The reference that every provider receives. */
  readonly orderNumber: OrderNumber
  readonly method: PaymentMethod
  readonly due: AmountDue
  readonly payer: { readonly name: string; readonly email: Email }
  /** A number that no other order ever has; present if the provider needs one. */
  readonly depositIndex: number | undefined
  readonly createdAt: Date
}

/** A payment as the provider opened it. */
export interface OpenedPayment {
  /** The provider's reference. Several payments for one order: all references, separated by commas. */
  readonly providerPaymentId: string
  readonly instructions: PaymentInstructions
  readonly expiresAt: Date
  /** JSON that the provider's adapter needs for later requests; opaque to all other code. */
  readonly state: unknown
  /** The references of later payments that repeat one of these, as the provider reported them. */
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
  /** The provider may have opened the payment although the request failed. */
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

/** What a webhook with a right signature names. Its other content is not used. */
export interface Reported {
  /** As the webhook has it; there may be no such order. */
  readonly orderNumber?: string | undefined
  readonly repeated?: RepeatedPayment | undefined
}

export interface PaymentWebhook {
  /** Checks the signature over the raw bytes. */
  readonly verify: (
    headers: Readonly<Record<string, string | undefined>>,
    body: Uint8Array
  ) => Effect.Effect<Reported, BadSignature>
  /** The response that the provider expects, as JSON. */
  readonly acknowledgement: unknown
}

export interface PaymentProvider {
  /** Orders store it and responses show it: `midtrans` or `midtrans-simulator`, for example. */
  readonly label: string
  /** The name in the path of its webhooks: `midtrans`, for example. */
  readonly name: string
  /** Connected to a simulator, without real money. */
  readonly simulated: boolean
  readonly method: PaymentMethod
  readonly needsDepositIndex: boolean
  /** Fails if the provider cannot be used with these settings. Run at start and by `doctor`. */
  readonly probe: Effect.Effect<void, ProviderUnavailable>
  readonly open: (intent: PaymentIntent) => Effect.Effect<OpenedPayment, ProviderUnavailable | AmountRejected>
  /** Ends within seconds. */
  readonly refresh: (
    intent: PaymentIntent,
    opened: OpenedPayment
  ) => Effect.Effect<PaymentObservation, ProviderUnavailable>
  /** Cancels a payment that may have been opened although `open` failed; best effort. */
  readonly cancel: ((intent: PaymentIntent) => Effect.Effect<void, ProviderUnavailable>) | undefined
  readonly webhook: PaymentWebhook | undefined
}

export class PaymentProviders extends Context.Tag("@tollgate/application/PaymentProviders")<
  PaymentProviders,
  {
    /** The provider of new payments with this method. */
    readonly forMethod: (method: PaymentMethod) => Option.Option<PaymentProvider>
    /** The provider that opened an earlier payment: an order stays with its provider. */
    readonly byLabel: (label: string) => Option.Option<PaymentProvider>
    readonly all: ReadonlyArray<PaymentProvider>
  }
>() {}
