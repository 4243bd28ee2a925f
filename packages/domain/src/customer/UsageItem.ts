/**
 * One settled request as a reseller sees it: whose, of which model, how much, at what cost.
 *
 * Tokens are all four classes (gap C5); the cost is the list price of the whole request, however it was paid (gap C3).
 */
import type { Tokens } from "../money/Tokens.ts"
import { toExactUsdMicro, type UsdPico } from "../money/UsdPico.ts"
import type { UsagePosition } from "./UsagePosition.ts"
import type { UserId } from "./User.ts"

export interface UsageItem {
  readonly position: UsagePosition
  readonly userId: UserId
  readonly model: string
  readonly totalTokens: Tokens
  readonly costPico: UsdPico
  readonly settledAt: Date
}

/** Exact, as decimal digits: `"0.5"`, `"1234.25"`. */
export const displayCostUsdMicroOf = ({ costPico }: UsageItem): string => toExactUsdMicro(costPico)
