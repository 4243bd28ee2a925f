/**
 * Defines the spend report: sums of settlements by day, model, reseller, or a combination of them.
 */
import type { TokenUsage } from "../ledger/TokenUsage.ts"
import type { UsdPico } from "../money/UsdPico.ts"

export const spendDimensions = ["day", "model", "reseller"] as const
export type SpendDimension = (typeof spendDimensions)[number]

/** The sums of the settlements with the same value in each dimension of the report. */
export interface SpendSums {
  /**
   * The day in Asia/Jakarta, the public name of the model, and the email of the reseller. A member is absent if the
   * report is not divided by this dimension.
   */
  readonly of: { readonly [Dimension in SpendDimension]?: string }
  /** The number of settled requests, charged or not. */
  readonly requests: bigint
  readonly charged: TokenUsage
  readonly planValuePico: UsdPico
  readonly paygPico: UsdPico
  readonly writeoffPico: UsdPico
  /** The cost of the tokens that were consumed and not charged, at the prices of the requests. */
  readonly operatorLossPico: UsdPico
}

/** Returns the amount that the customers paid: plan value and pay-as-you-go. */
export const spentPico = ({ paygPico, planValuePico }: SpendSums): bigint => planValuePico + paygPico

/** The name of the group of customers without a reseller. */
export const NO_RESELLER = ""
