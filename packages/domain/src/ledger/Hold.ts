/**
 * A hold sets aside plan tokens and pay-as-you-go money for one request, before the request is sent to a provider.
 *
 * A hold never exceeds the available balances. It takes plan tokens first, then pay-as-you-go money. A request is refused
 * if the balances do not cover the smallest possible usage of the request.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import * as Account from "./Account.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

/** The plan for the model and the pay-as-you-go balance together do not cover the smallest possible usage. */
export class InsufficientBalance extends Schema.TaggedError<InsufficientBalance>()("InsufficientBalance", {}) {}

/** The usage of a request in tokens, estimated only from the request body. */
export interface Estimate {
  /** The minimum number of prompt tokens. */
  readonly inputFloor: Tokens.Tokens
  /** The maximum number of prompt tokens. Unusual text can have more tokens. */
  readonly inputCeiling: Tokens.Tokens
  /** The number of output tokens to set aside: for each choice, the caller's limit or a default, up to a cap. */
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

/** A customer's balances for one model. A balance that the customer does not have is undefined. */
export interface Balances {
  readonly plan: Account.PlanAccount | undefined
  readonly payg: Account.PaygAccount | undefined
}

const ONE = Tokens.Tokens(1n)

/**
 * Sets aside the whole estimate if the balances cover it, otherwise everything that is available. Fails if the balances do
 * not cover the smallest usage: the input floor, plus one output token if the request generates output.
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
