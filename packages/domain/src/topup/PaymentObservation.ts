/**
 * What a provider says of a payment when it is asked. Only a definite answer is an observation; no answer is none.
 */
import type { TokenRaw } from "../money/TokenRaw.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"

/**
 * What has arrived for the order so far, where the provider says. Of a chain the raw amount, of a crypto provider
 * micro-USD. Money of another order or in another coin is none of it.
 */
export interface Received {
  readonly receivedRaw: TokenRaw | undefined
  readonly receivedUsdMicro: UsdMicro | undefined
}

/** What somebody who looks into a payment wants to see. It decides nothing, and may be incomplete. */
export interface PaymentEvidence {
  /** Transactions that brought the money, by the names their chain gives them. */
  readonly transactions: ReadonlyArray<string>
  /** What was noticed besides, in words: for instance tokens of another kind at the same address. */
  readonly remarks: ReadonlyArray<string>
}

export type PaymentObservation = {
  readonly received: Received | undefined
  readonly evidence?: PaymentEvidence | undefined
} & (
  | { readonly _tag: "Pending" }
  /** Final at the provider, and of the amount, reference and currency that were asked for. */
  | { readonly _tag: "Paid"; readonly paidAt: Date | undefined }
  | { readonly _tag: "Expired" }
  /** Denied or cancelled there. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** Amount, reference or currency are not what was asked for: somebody must look; never credited. */
  | { readonly _tag: "Suspicious"; readonly reason: string }
)
