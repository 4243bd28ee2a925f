/**
 * A hold: money and tokens reserved for one request before it is sent to a provider.
 *
 * A hold is never larger than what is available, and a request whose smallest possible use is not covered is
 * refused: the plan first, then pay-as-you-go.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import * as Account from "./Account.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

/** Neither the plan for this model nor pay-as-you-go covers the smallest possible use. */
export class InsufficientBalance extends Schema.TaggedError<InsufficientBalance>()("InsufficientBalance", {}) {}

/** The expected usage of a request, from its body alone. */
export interface Estimate {
  /** The prompt has at least this many tokens. */
  readonly inputFloor: Tokens.Tokens
  /** The prompt has at most this many tokens, except for unusual text. */
  readonly inputCeiling: Tokens.Tokens
  /** The output to reserve: the caller's limit or the default, capped. */
  readonly output: Tokens.Tokens
}

export interface Hold {
  readonly planTokens: Tokens.Tokens
  readonly paygPico: UsdPico.UsdPico
}

export interface Held {
  readonly hold: Hold
  readonly plan: Account.PlanAccount | undefined
  readonly payg: Account.PaygAccount | undefined
}

/** The balances a customer has for one model. Either may not exist yet. */
export interface Balances {
  readonly plan: Account.PlanAccount | undefined
  readonly payg: Account.PaygAccount | undefined
}

const ONE = Tokens.Tokens(1n)

/**
 * Reserves the whole estimate where it is available, less where it is not, nothing where not even the smallest
 * use is covered: the input floor, and one token of output unless the request generates none.
 */
export const decideHold = (
  estimate: Estimate,
  price: Price.Price,
  balances: Balances
): Either.Either<Held, InsufficientBalance> => {
  const expected = TokenUsage.plain(estimate.inputCeiling, estimate.output)
  const least = TokenUsage.plain(estimate.inputFloor, Tokens.min(ONE, estimate.output))
  const planAvailable = balances.plan === undefined ? Tokens.zero : Account.available(balances.plan)
  const paygAvailable = balances.payg === undefined ? UsdPico.zero : Account.available(balances.payg)

  const planTokens = Tokens.min(planAvailable, TokenUsage.total(expected))
  const leastOwed = Price.cost(price, least) - Price.prefixCost(price, least, planTokens)
  if (leastOwed > paygAvailable) return Either.left(new InsufficientBalance())

  const owed = Price.cost(price, expected) - Price.prefixCost(price, expected, planTokens)
  const paygPico = owed < paygAvailable ? UsdPico.UsdPico(owed) : paygAvailable
  return Either.right({
    hold: { planTokens, paygPico },
    plan: balances.plan && Account.reserve(balances.plan, planTokens),
    payg: balances.payg && Account.reserve(balances.payg, paygPico)
  })
}
