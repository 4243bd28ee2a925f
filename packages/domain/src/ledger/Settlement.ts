/**
 * The settlement of a request: its cost, split between plan, pay-as-you-go and write-off.
 *
 *     plan value + pay-as-you-go + write-off = cost
 *
 * The split is decided over both balances at the time of settlement. The plan covers the first tokens, in the order input,
 * cache write, cache read, output. Pay-as-you-go pays the remaining tokens at the price of their class. Any unpaid amount is
 * written off and reported: a settlement never fails for lack of money, and no balance becomes negative.
 */

import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import * as Account from "./Account.ts"
import type { Balances, Hold } from "./Hold.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

/** The origin of the charged token counts. */
export type UsageSource = "upstream" | "mixed" | "local" | "checkpoint" | "none"

/** The usage that a request is charged for, and the usage that the provider consumed. */
export interface Charge {
  readonly charged: TokenUsage.TokenUsage
  readonly consumed: TokenUsage.TokenUsage
  readonly source: UsageSource
}

export interface Settlement {
  readonly costPico: UsdPico.UsdPico
  readonly planTokens: Tokens.Tokens
  readonly planValuePico: UsdPico.UsdPico
  readonly paygPico: UsdPico.UsdPico
  readonly writeoffPico: UsdPico.UsdPico
}

export interface Settled extends Balances {
  readonly settlement: Settlement
}

/** Releases the hold, and debits the charge from the available balances including the released amounts. */
export const decideSettlement = (hold: Hold, charge: Charge, price: Price.Price, balances: Balances): Settled => {
  const { plan, payg } = balances
  const planLeft = plan === undefined ? 0n : Account.available(plan) + hold.planTokens
  const paygLeft = payg === undefined ? 0n : Account.available(payg) + hold.paygPico

  const costPico = Price.cost(price, charge.charged)
  const planTokens = Tokens.min(TokenUsage.total(charge.charged), Tokens.Tokens(planLeft))
  const planValuePico = Price.prefixCost(price, charge.charged, planTokens)
  const owed = costPico - planValuePico
  const paygPico = UsdPico.UsdPico(owed < paygLeft ? owed : paygLeft)
  return {
    settlement: {
      costPico,
      planTokens,
      planValuePico,
      paygPico,
      writeoffPico: UsdPico.UsdPico(owed - paygPico)
    },
    plan: plan && Account.post(plan, hold.planTokens, planTokens),
    payg: payg && Account.post(payg, hold.paygPico, paygPico)
  }
}
