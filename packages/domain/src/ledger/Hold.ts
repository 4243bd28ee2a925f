/**
 * A hold sets aside plan tokens and pay-as-you-go money for one open request.
 *
 * A hold never exceeds the available balances. It takes plan tokens first, then pay-as-you-go money. A request is
 * refused if the balances do not cover the smallest possible usage of the request. The hold of a stream grows while
 * the stream is delivered, and no stream delivers more output than its hold covers.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import * as Account from "./Account.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

/**
 * The balances do not cover the request, its counted prompt, the next part of its stream, or the charge that an
 * operator enters for an image request. An admission fails for one of two reasons. Either the plan for the model and
 * the pay-as-you-go balance together do not cover the smallest possible usage. Or the prompt has unsized content, the
 * balances do not cover the whole estimate, and nothing is available or another request has a hold on these balances.
 */
export class InsufficientBalance extends Schema.TaggedError<InsufficientBalance>()("InsufficientBalance", {}) {}

/** The usage of a request in tokens, estimated before the request is sent. */
export interface Estimate {
  /** The minimum number of prompt tokens. */
  readonly inputFloor: Tokens.Tokens
  /** A number of prompt tokens that ordinary text does not exceed. Unusual text can have more. */
  readonly inputCeiling: Tokens.Tokens
  /** A number of prompt tokens that no text of this size exceeds; undefined if it is the input ceiling. */
  readonly inputLimit?: Tokens.Tokens
  /** The number of output tokens to set aside at the admission. */
  readonly output: Tokens.Tokens
  /** The number of prompt tokens to set aside for unsized content; undefined if the prompt has none. */
  readonly unsizedInput?: Tokens.Tokens
}

/** The facts of a request that decide what its hold must cover. */
export interface RequestDemand {
  readonly estimate: Estimate
  readonly price: Price.Price
  readonly streamed: boolean
}

export interface Hold {
  readonly planTokens: Tokens.Tokens
  readonly paygPico: UsdPico.UsdPico
  /** The part that counts for the limits of a limited key (`KeyHold.ts`); undefined if the key is not limited. */
  readonly key?: KeyHold
}

/** The part of a hold that counts for the limits of its key. */
export interface KeyHold {
  /** The amount that is set aside from the budget; undefined if the key had no budget. */
  readonly budgetPico: UsdPico.UsdPico | undefined
  /** The tokens that the rate window counts until the request is settled. */
  readonly tokens: Tokens.Tokens
  /** The number of the rate window that counts the request. */
  readonly window: bigint
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
const NO_HOLD: Hold = { planTokens: Tokens.zero, paygPico: UsdPico.zero }

/**
 * Returns the usage of an estimate with the input ceiling as its prompt. The whole prompt is in its dearest class, so a
 * hold that covers the estimate covers the request also if the provider writes the prompt to a cache.
 */
export const expectedUsage = (
  { inputCeiling, output, unsizedInput = Tokens.zero }: Estimate,
  price: Price.Price
): TokenUsage.TokenUsage => ({
  ...TokenUsage.none,
  [Price.dearestPromptClass(price)]: Tokens.add(inputCeiling, unsizedInput),
  output
})

/** Returns the usage of {@link expectedUsage} with the input limit as its prompt. */
export const largestUsage = (estimate: Estimate, price: Price.Price): TokenUsage.TokenUsage =>
  expectedUsage({ ...estimate, inputCeiling: estimate.inputLimit ?? estimate.inputCeiling }, price)

/** The number of times that the tokens which the input limit adds to the input ceiling must be covered. */
const LIMIT_FACTOR = 10n

/**
 * Returns the usage that a hold should set aside: {@link largestUsage} if the estimate and {@link LIMIT_FACTOR} times
 * the tokens that the input limit adds to it are covered, otherwise {@link expectedUsage}. With a small balance, the
 * input limit of one request would set aside what other requests need. `isCovered` returns whether a usage is covered:
 * for the balances, by one of them alone; for a limited key, by its budget.
 */
export const usageToHold = (
  estimate: Estimate,
  price: Price.Price,
  isCovered: (usage: TokenUsage.TokenUsage) => boolean
): TokenUsage.TokenUsage => {
  const { inputCeiling, inputLimit } = estimate
  if (inputLimit === undefined) return expectedUsage(estimate, price)
  const prompt = Tokens.Tokens(inputCeiling + LIMIT_FACTOR * (inputLimit - inputCeiling))
  const isLimitSmall = isCovered(expectedUsage({ ...estimate, inputCeiling: prompt }, price))
  return isLimitSmall ? largestUsage(estimate, price) : expectedUsage(estimate, price)
}

/** Returns the smallest usage: the input floor, plus one output token if the request generates output. */
export const leastUsage = ({ inputFloor, output }: Estimate): TokenUsage.TokenUsage =>
  TokenUsage.plain(inputFloor, Tokens.min(ONE, output))

/** Returns whether a hold covers the whole estimate of its request. */
export const coversEstimate = (hold: Hold, estimate: Estimate, price: Price.Price): boolean =>
  covers(hold, expectedUsage(estimate, price), price)

/**
 * Sets aside the whole estimate if the balances cover it, otherwise everything that is available. If the balances are
 * large as `usageToHold` states, sets aside the input limit instead of the input ceiling. Fails if the balances
 * do not cover the smallest usage: the input floor, plus one output token if the request generates output.
 *
 * If the prompt has unsized content and the balances do not cover the estimate, the request can cost more than its
 * hold. Its hold is then created only if the balances have no other hold, and if it sets something aside: a hold of
 * nothing would not be seen by the next request.
 */
export const decideHold = (
  estimate: Estimate,
  price: Price.Price,
  balances: Balances
): Either.Either<Held, InsufficientBalance> => {
  const least = leastUsage(estimate)
  const usage = usageToHold(estimate, price, (usage) => eitherCovers(balances, usage, price))
  const held = growHold(NO_HOLD, usage, price, balances)
  // The plan tokens of the hold also cover the first tokens of the smallest usage, because this usage is part of the
  // estimate.
  const leastOwed = Price.cost(price, least) - Price.prefixCost(price, least, held.hold.planTokens)
  const paygAvailable = balances.payg === undefined ? UsdPico.zero : Account.available(balances.payg)
  if (leastOwed > paygAvailable) return Either.left(new InsufficientBalance())
  const mayExceed = estimate.unsizedInput !== undefined && !coversEstimate(held.hold, estimate, price)
  return mayExceed && (hasHolds(balances) || !hasHolds(held))
    ? Either.left(new InsufficientBalance())
    : Either.right(held)
}

const hasHolds = ({ plan, payg }: Balances): boolean =>
  (plan?.debitsPending ?? 0n) > 0n || (payg?.debitsPending ?? 0n) > 0n

/** Grows the plan tokens and the money of a hold until they cover this usage, or until nothing more is available. */
export const growHold = (hold: Hold, usage: TokenUsage.TokenUsage, price: Price.Price, balances: Balances): Held => {
  const planLimit = balances.plan === undefined ? 0n : Account.available(balances.plan) + hold.planTokens
  const paygLimit = balances.payg === undefined ? 0n : Account.available(balances.payg) + hold.paygPico
  const planTokens = Tokens.Tokens(between(hold.planTokens, TokenUsage.total(usage), planLimit))
  const owed = Price.cost(price, usage) - Price.prefixCost(price, usage, planTokens)
  const paygPico = UsdPico.UsdPico(between(hold.paygPico, owed, paygLimit))
  const grownBy = {
    planTokens: Tokens.Tokens(planTokens - hold.planTokens),
    paygPico: UsdPico.UsdPico(paygPico - hold.paygPico)
  }
  return {
    hold: hold.key === undefined ? { planTokens, paygPico } : { planTokens, paygPico, key: hold.key },
    plan: balances.plan && Account.reserve(balances.plan, grownBy.planTokens),
    payg: balances.payg && Account.reserve(balances.payg, grownBy.paygPico)
  }
}

/** The facts of an open request that decide how its hold is extended. */
export interface ExtensionFacts {
  readonly price: Price.Price
  readonly streamed: boolean
}

/**
 * Extends the hold of an open request. The hold of a stream grows as far as the balances suffice. A whole response can
 * cost more than a hold that does not cover the usage. Therefore its hold grows only in full, unless the balances have
 * no other hold.
 */
export const extendHold = (
  hold: Hold,
  usage: TokenUsage.TokenUsage,
  { price, streamed }: ExtensionFacts,
  balances: Balances
): Held => {
  const grown = growHold(hold, usage, price, balances)
  const mayGrow = streamed || balancesCover(grown.hold, usage, price) || isOnlyHold(hold, balances)
  return mayGrow ? grown : { ...balances, hold }
}

const isOnlyHold = ({ planTokens, paygPico }: Hold, { plan, payg }: Balances): boolean =>
  (plan?.debitsPending ?? 0n) <= planTokens && (payg?.debitsPending ?? 0n) <= paygPico

/** Returns the wanted amount, limited to the range from `least` to `most`; `least` if `most` is smaller. */
const between = (least: bigint, wanted: bigint, most: bigint): bigint => {
  const limited = wanted < most ? wanted : most
  return limited > least ? limited : least
}

/** Returns whether a hold covers the cost of this usage. */
export const covers = (hold: Hold, usage: TokenUsage.TokenUsage, price: Price.Price): boolean =>
  balancesCover(hold, usage, price) && budgetCovers(hold, usage, price)

/** Returns whether the budget part of a hold, if there is one, covers the cost of this usage. */
export const budgetCovers = ({ key }: Hold, usage: TokenUsage.TokenUsage, price: Price.Price): boolean =>
  key?.budgetPico === undefined || Price.cost(price, usage) <= key.budgetPico

/** Returns whether the plan tokens and the money of a hold cover the cost of this usage. */
export const balancesCover = (
  { planTokens, paygPico }: Hold,
  usage: TokenUsage.TokenUsage,
  price: Price.Price
): boolean => Price.cost(price, usage) - Price.prefixCost(price, usage, planTokens) <= paygPico

/**
 * Returns the number of output tokens that a hold covers in addition to the prompt, up to {@link Tokens.MAX_PER_CLASS}.
 * Returns undefined if the hold does not cover the prompt. The output member of `prompt` is ignored.
 */
export const coveredOutput = (
  { key, planTokens, paygPico }: Hold,
  prompt: TokenUsage.TokenUsage,
  price: Price.Price
): Tokens.Tokens | undefined => {
  const promptOnly = { ...prompt, output: Tokens.zero }
  const promptTokens = TokenUsage.total(promptOnly)
  const promptOwed = Price.cost(price, promptOnly) - Price.prefixCost(price, promptOnly, planTokens)
  if (promptOwed > paygPico) return undefined
  const fromPlan = planTokens > promptTokens ? planTokens - promptTokens : 0n
  const fromPayg = outputFor(paygPico - promptOwed, price)
  const covered = Tokens.min(Tokens.Tokens(fromPlan + fromPayg), Tokens.Tokens(Tokens.MAX_PER_CLASS))
  if (key?.budgetPico === undefined) return covered
  const budgetLeft = key.budgetPico - Price.cost(price, promptOnly)
  return budgetLeft < 0n ? undefined : Tokens.min(covered, Tokens.Tokens(outputFor(budgetLeft, price)))
}

const outputFor = (pico: bigint, price: Price.Price): bigint =>
  price.output === 0n ? Tokens.MAX_PER_CLASS : pico / price.output

/** An ample balance is at least this many times the hold that a request takes. */
const AMPLE_FACTOR = 100n

/**
 * Returns whether the balances are so large that requests which are decided at the same time cannot use them up
 * (docs/reference/billing.md#i3). If they are, the request may be sent to a provider while its hold is written.
 */
export const isAmple = (estimate: Estimate, price: Price.Price, balances: Balances): boolean =>
  eitherCovers(balances, largestUsage(estimate, price), price, AMPLE_FACTOR)

/** Returns whether the plan alone, or the pay-as-you-go balance alone, covers the given number of such usages. */
const eitherCovers = (
  { plan, payg }: Balances,
  usage: TokenUsage.TokenUsage,
  price: Price.Price,
  times = 1n
): boolean => {
  const planAvailable = plan === undefined ? Tokens.zero : Account.available(plan)
  if (planAvailable >= times * TokenUsage.total(usage)) return true
  const paygAvailable = payg === undefined ? UsdPico.zero : Account.available(payg)
  return paygAvailable >= times * Price.cost(price, usage)
}
