/**
 * Declares the port of payment providers for top-ups. Each adapter uses the protocol of its provider.
 */
import type { Idr } from "@tollgate/domain/money/Idr"
import type { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentInstructions, PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { OrderId, OrderNumber } from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { DepositIndexRange } from "./TopUpRecovery.ts"

/** The amount to pay: in rupiah for the QRIS methods, in dollar tokens for the crypto methods. */
export type AmountDue =
  | { readonly _tag: "Rupiah"; readonly totalIdr: Idr }
  | { readonly _tag: "Dollars"; readonly amountUsdMicro: UsdMicro; readonly tokenKind: TokenKind }

/** The data of a payment that do not change while the order exists. */
export interface PaymentIntent {
  readonly orderId: OrderId
  /** The name of the order in requests to payment providers. Nodes of BNB Smart Chain do not receive it. */
  readonly orderNumber: OrderNumber
  readonly method: PaymentMethod
  readonly due: AmountDue
  readonly payer: { readonly name: string; readonly email: Email }
  /** The index from which the order's own deposit address is derived; undefined if the provider needs none. */
  readonly depositIndex: number | undefined
  readonly createdAt: Date
}

/** A payment as the provider opened it, with the further deposits that became known later. */
export interface OpenedPayment {
  /** The provider's payment reference. If the order has several payments, all references, separated by commas. */
  readonly providerPaymentId: string
  readonly instructions: PaymentInstructions
  readonly expiresAt: Date
  /** JSON that the provider's adapter needs for later requests. No other code reads it. */
  readonly state: unknown
  /**
   * The references of the repeated payments: further deposits to the address of this order, which the provider records
   * as payments of their own.
   */
  readonly repeatedPayments?: ReadonlyArray<string>
}

/**
 * A request to the payment provider failed, or the payment provider is not configured. `detail` is only for operators.
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
  /** True if the provider may have opened the payment although the request failed. */
  ambiguous: Schema.Boolean,
  detail: Schema.String
}) {}

/** The provider does not accept a payment of this amount. */
export class AmountRejected extends Schema.TaggedError<AmountRejected>()("AmountRejected", {
  provider: Schema.String,
  detail: Schema.String
}) {}

/** The signature of a webhook is missing or wrong. */
export class BadSignature extends Schema.TaggedError<BadSignature>()("BadSignature", { provider: Schema.String }) {}

/** A repeated payment: the provider's reference of this payment, and the reference of the original payment. */
export interface RepeatedPayment {
  readonly paymentId: string
  readonly originalId: string
}

/** The content of a webhook that this gateway uses. The signature of the webhook is valid. */
export interface PaymentNotification {
  /** The order number in the webhook. It is possible that no order has this number. */
  readonly orderNumber?: string | undefined
  readonly repeated?: RepeatedPayment | undefined
  /**
   * True if the webhook reports that money has arrived. It only serves to alert an operator if no order gets the money.
   */
  readonly paid?: true | undefined
}

export interface PaymentWebhook {
  /** Verifies the signature of the webhook. The adapter needs the raw bytes: each provider defines what is signed. */
  readonly verify: (
    headers: Readonly<Record<string, string | undefined>>,
    body: Uint8Array
  ) => Effect.Effect<PaymentNotification, BadSignature>
  /** The response that the provider expects, as JSON. */
  readonly acknowledgement: unknown
}

export interface PaymentProvider {
  /** The name in stored orders and in responses, for example `midtrans` or `midtrans-simulator`. */
  readonly label: string
  /** The name in the URL path of the provider's webhooks, for example `midtrans`. */
  readonly name: string
  /** True if the adapter uses a simulator or the provider's test system (sandbox), so that no real money is paid. */
  readonly simulated: boolean
  readonly method: PaymentMethod
  readonly needsDepositIndex: boolean
  /**
   * Checks that the provider can be used with the current settings. A server runs it at its start, unless it uses the
   * payment simulators, and for the checks of the operator API. `tollgate doctor` runs it too.
   */
  readonly probe: Effect.Effect<void, ProviderUnavailable>
  readonly open: (intent: PaymentIntent) => Effect.Effect<OpenedPayment, ProviderUnavailable | AmountRejected>
  /** Reads the state of the payment from the provider. */
  readonly refresh: (
    intent: PaymentIntent,
    opened: OpenedPayment
  ) => Effect.Effect<PaymentObservation, ProviderUnavailable>
  /** Tries to cancel the payment of an abandoned draft. It is possible that the payment was never opened. */
  readonly cancel: ((intent: PaymentIntent) => Effect.Effect<void, ProviderUnavailable>) | undefined
  readonly webhook: PaymentWebhook | undefined
  /** Reads the deposit addresses with these indexes that have a balance. Undefined if the provider needs no index. */
  readonly deposits?: (range: DepositIndexRange) => Effect.Effect<ReadonlyArray<FoundDeposit>, ProviderUnavailable>
}

/** Tokens at a deposit address. */
export interface FoundDeposit {
  readonly index: number
  readonly address: string
  readonly tokenKind: TokenKind
  readonly receivedRaw: TokenRaw
}

export class PaymentProviders extends Context.Tag("@tollgate/application/PaymentProviders")<
  PaymentProviders,
  {
    /** Returns the provider for new payments with this method. */
    readonly forMethod: (method: PaymentMethod) => Option.Option<PaymentProvider>
    /** Returns the provider of an existing order by the label in the order. An order keeps its provider. */
    readonly byLabel: (label: string) => Option.Option<PaymentProvider>
    readonly all: ReadonlyArray<PaymentProvider>
  }
>() {}
