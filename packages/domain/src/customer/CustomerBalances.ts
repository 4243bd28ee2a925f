/**
 * What a customer has left: one pay-as-you-go balance and one plan per model.
 */
import type { PlanAccount } from "../ledger/Account.ts"
import { remaining } from "../ledger/Account.ts"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdPico } from "../money/UsdPico.ts"

export interface TokenPlan {
  readonly model: string
  readonly purchased: Tokens
  readonly used: Tokens
  readonly remaining: Tokens
  /** `active` while tokens remain. */
  readonly status: "active" | "exhausted"
}

export interface CustomerBalances {
  readonly paygPico: UsdPico
  readonly plans: ReadonlyArray<TokenPlan>
}

/** A plan as its owner sees it: open holds are not counted. */
export const tokenPlan = (model: string, account: PlanAccount): TokenPlan => ({
  model,
  purchased: account.creditsPosted,
  used: account.debitsPosted,
  remaining: remaining(account),
  status: remaining(account) > 0n ? "active" : "exhausted"
})
