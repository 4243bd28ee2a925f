/**
 * The state of a payment as its provider reports it. Only a definite response is an observation; a failed query is none.
 */
import type { TokenRaw } from "../money/TokenRaw.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"

/**
 * The amount received for the order so far, where the provider reports it: the raw amount of a chain, or micro-USD of a
 * crypto provider. It excludes money of another order or in another coin.
 */
export interface Received {
  readonly receivedRaw: TokenRaw | undefined
  readonly receivedUsdMicro: UsdMicro | undefined
}

/** Details for an operator who inspects a payment. They decide nothing, and may be incomplete. */
export interface PaymentEvidence {
  /** Transactions that brought the money, by the names their chain gives them. */
  readonly transactions: ReadonlyArray<string>
  /** Other observations in words: for instance tokens of another kind at the same address. */
  readonly remarks: ReadonlyArray<string>
}

export type PaymentObservation = {
  readonly received: Received | undefined
  readonly evidence?: PaymentEvidence | undefined
} & (
  | { readonly _tag: "Pending" }
  /** Final at the provider, with the ordered amount, reference and currency. */
  | { readonly _tag: "Paid"; readonly paidAt: Date | undefined }
  | { readonly _tag: "Expired" }
  /** Denied or cancelled there. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** Amount, reference or currency differ from the order: an operator must inspect it; never credited. */
  | { readonly _tag: "Suspicious"; readonly reason: string }
)
