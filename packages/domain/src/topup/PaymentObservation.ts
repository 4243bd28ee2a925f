/**
 * An observation is the state of a payment as its provider reports it. If the request to the provider fails, there is
 * no observation.
 */
import type { TokenRaw } from "../money/TokenRaw.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"

/**
 * The total amount received for the order so far, if the provider reports it: a raw amount read from the chain, or an
 * amount in micro-USD from a crypto provider. Money for another order or in another coin is not included.
 */
export interface Received {
  readonly receivedRaw: TokenRaw | undefined
  readonly receivedUsdMicro: UsdMicro | undefined
}

/**
 * Details for an operator who inspects a payment. The details may be incomplete, and do not affect the order's status.
 */
export interface PaymentEvidence {
  /** The ids of the blockchain transactions that transferred the money. */
  readonly transactions: ReadonlyArray<string>
  /** Other facts as text, for example that tokens of another kind arrived at the same address. */
  readonly remarks: ReadonlyArray<string>
}

export type PaymentObservation = {
  readonly received: Received | undefined
  readonly evidence?: PaymentEvidence | undefined
} & (
  | {
      readonly _tag: "Pending"
      /**
       * The reason why an operator must inspect the order although its payment can still be made. For example, one of
       * several payments of the order was refunded.
       */
      readonly alert?: string
    }
  /** The payment is final at the provider. It covers the amount of the order, and its reference and currency match. */
  | { readonly _tag: "Paid"; readonly paidAt: Date | undefined }
  | { readonly _tag: "Expired" }
  /** The provider denied or cancelled the payment. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** The payer has received the whole payment back, by a refund or a chargeback. */
  | { readonly _tag: "Refunded"; readonly reason: string }
  /**
   * The amount, reference or currency differs from the order, or a part of the payment was refunded. This observation
   * credits nothing. An operator must inspect the payment.
   */
  | { readonly _tag: "Suspicious"; readonly reason: string }
)
