/**
 * The state of a payment as its provider reports it. Only a definite response is an observation; a failed query is not.
 */
import type { TokenRaw } from "../money/TokenRaw.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"

/**
 * The total amount received for the order until now, if the provider reports it: the raw amount on the chain, or micro-USD
 * from a crypto provider. Excludes money for another order or in another coin.
 */
export interface Received {
  readonly receivedRaw: TokenRaw | undefined
  readonly receivedUsdMicro: UsdMicro | undefined
}

/** Details for an operator who inspects a payment. They may be incomplete and do not affect the order's status. */
export interface PaymentEvidence {
  /** The ids on the chain of the transactions that transferred the money. */
  readonly transactions: ReadonlyArray<string>
  /** Other facts as text, for example that tokens of another kind arrived at the same address. */
  readonly remarks: ReadonlyArray<string>
}

export type PaymentObservation = {
  readonly received: Received | undefined
  readonly evidence?: PaymentEvidence | undefined
} & (
  | { readonly _tag: "Pending" }
  /** The payment is final at the provider, with the ordered amount, reference and currency. */
  | { readonly _tag: "Paid"; readonly paidAt: Date | undefined }
  | { readonly _tag: "Expired" }
  /** The provider denied or cancelled the payment. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** Amount, reference or currency differ from the order. An operator must inspect the payment; it is never credited. */
  | { readonly _tag: "Suspicious"; readonly reason: string }
)
