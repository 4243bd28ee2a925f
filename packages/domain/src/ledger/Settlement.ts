/**
 * A settlement splits the cost of a request between the token plan, the pay-as-you-go balance and a write-off.
 *
 *     plan value + pay-as-you-go + write-off = cost
 *
 * The split depends on both balances at the time of the settlement. The plan covers the first tokens, in the order
 * input, cache write, cache read, output. The cost of these tokens is the plan value. The pay-as-you-go balance pays
 * for the remaining tokens. The amount that no balance can pay is written off. Therefore no settlement fails because a
 * balance is too low, and no balance becomes negative.
 */

import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import * as Account from "./Account.ts"
import type { Balances, Hold } from "./Hold.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

/**
 * The origin of the charged token counts of prompt and output. `upstream`: the provider reported both. `local`: the
 * gateway counted both. `mixed`: one of each. For a cut stream, only the prompt decides: `mixed` if it was reported,
 * otherwise `local`, because the gateway always counts the output of a cut stream and only limits it by the report.
 */
export type UsageSource = "upstream" | "mixed" | "local" | "checkpoint" | "none"

/** The tokens that the customer is charged for, and the tokens that the provider used, as far as they are known. */
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

/** Releases the hold, then debits the cost of the charge. The released amounts can pay this cost. */
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
