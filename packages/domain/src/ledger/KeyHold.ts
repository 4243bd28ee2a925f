/**
 * The part of a hold that a limited key needs: an amount of its budget, and the tokens that its rate window counts
 * (docs/reference/key-limits.md).
 *
 * The budget counts the list price of tokens, whether a token plan or the pay-as-you-go balance pays for them. A
 * stream delivers no output that its budget part does not cover. The gateway cannot limit the cost of a whole response
 * or of unsized content in this way. A request for a whole response, or with unsized content, is admitted only if the
 * budget covers its whole estimate.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tokens from "../money/Tokens.ts"
import * as UsdPico from "../money/UsdPico.ts"
import {
  balancesCover,
  covers,
  expectedUsage,
  type Hold,
  InsufficientBalance,
  type KeyHold,
  leastUsage,
  type RequestDemand,
  usageToHold
} from "./Hold.ts"
import {
  availableBudget,
  type CountedKey,
  type CountedLimits,
  countsAt,
  type KeyCounts,
  RATE_WINDOW_MILLIS,
  type RateWindow,
  spend,
  windowAt
} from "./KeyCounts.ts"
import * as Price from "./Price.ts"
import * as TokenUsage from "./TokenUsage.ts"

const RateStatus = Schema.Struct({
  limit: Schema.Number,
  remaining: Schema.Number,
  /** The time until the end of the rate window. */
  resetSeconds: Schema.Number
})
/** A rate limit of a key, and the remaining number of requests or tokens. */
export type RateStatus = typeof RateStatus.Type

/** A limit of requests, tokens or concurrent requests of the key refuses the request. */
export class KeyRateLimited extends Schema.TaggedError<KeyRateLimited>()("KeyRateLimited", {
  limit: Schema.Literal("requests", "tokens", "concurrent"),
  retryAfterSeconds: Schema.Number,
  requests: Schema.UndefinedOr(RateStatus),
  tokens: Schema.UndefinedOr(RateStatus)
}) {}

/** A budget of the key does not cover the request, or the next part of its stream. */
export class KeyBudgetExceeded extends Schema.TaggedError<KeyBudgetExceeded>()("KeyBudgetExceeded", {}) {}

/** Returns the reason why a hold does not cover this usage; undefined if it covers the usage. */
export const shortageOf = (
  hold: Hold,
  usage: TokenUsage.TokenUsage,
  price: Price.Price
): InsufficientBalance | KeyBudgetExceeded | undefined => {
  if (covers(hold, usage, price)) return undefined
  return balancesCover(hold, usage, price) ? new KeyBudgetExceeded() : new InsufficientBalance()
}

export interface KeyHeld {
  readonly hold: KeyHold
  readonly counts: KeyCounts
}

/** The time after which a client should repeat a request that the limit of concurrent requests refused. */
const CONCURRENT_RETRY_SECONDS = 1

/**
 * Decides a new request of a limited key. The budget is checked first, because a client should not repeat a request
 * that exceeds the budget.
 */
export const decideKeyHold = (
  demand: RequestDemand,
  { counts: before, limits }: CountedKey,
  nowMillis: number
): Either.Either<KeyHeld, KeyBudgetExceeded | KeyRateLimited> => {
  const counts = countsAt(before, nowMillis)
  const budgetPico = budgetFor(demand, availableBudget(limits, counts))
  if (budgetPico === "exceeded") return Either.left(new KeyBudgetExceeded())
  const window = windowAt(counts.window, nowMillis)
  const tokens = TokenUsage.total(expectedUsage(demand.estimate, demand.price))
  const refused = refusedLimit(limits, counts.openRequests, window, tokens)
  if (refused !== undefined) return Either.left(rateLimited(refused, limits, window, nowMillis))
  return Either.right({
    hold: { budgetPico, tokens, window: window.number },
    counts: {
      ...counts,
      pending: UsdPico.UsdPico(counts.pending + (budgetPico ?? 0n)),
      openRequests: counts.openRequests + 1,
      window: { ...window, requests: window.requests + 1, tokens: window.tokens + tokens }
    }
  })
}

/**
 * Returns the budget part of a new hold: the cost of the estimate (`usageToHold`) or, for a stream without unsized
 * content, at most the available budget. Returns `exceeded` if the budget does not cover the request, and undefined if
 * there is no budget.
 */
const budgetFor = (
  { estimate, price, streamed }: RequestDemand,
  available: UsdPico.UsdPico | undefined
): UsdPico.UsdPico | undefined | "exceeded" => {
  if (available === undefined) return undefined
  const wanted = Price.cost(
    price,
    usageToHold(estimate, price, (usage) => Price.cost(price, usage) <= available)
  )
  if (wanted <= available) return wanted
  const isBoundedByDelivery = streamed && estimate.unsizedInput === undefined
  return isBoundedByDelivery && Price.cost(price, leastUsage(estimate)) <= available ? available : "exceeded"
}

const refusedLimit = (
  { concurrentRequests, requestsPerMinute, tokensPerMinute }: CountedLimits,
  openRequests: number,
  window: RateWindow,
  tokens: bigint
): KeyRateLimited["limit"] | undefined => {
  if (concurrentRequests !== undefined && openRequests >= concurrentRequests) return "concurrent"
  if (requestsPerMinute !== undefined && window.requests >= requestsPerMinute) return "requests"
  if (tokensPerMinute === undefined) return undefined
  // A request that is larger than the limit is admitted if its window has no tokens yet. Otherwise it could never be
  // admitted.
  const needed = tokens < tokensPerMinute ? tokens : tokensPerMinute
  return window.tokens + needed > tokensPerMinute ? "tokens" : undefined
}

const rateLimited = (
  limit: KeyRateLimited["limit"],
  limits: CountedLimits,
  window: RateWindow,
  nowMillis: number
): KeyRateLimited => {
  const resetSeconds = Math.max(1, Math.ceil((window.beganAtMillis + RATE_WINDOW_MILLIS - nowMillis) / 1_000))
  return new KeyRateLimited({
    limit,
    retryAfterSeconds: limit === "concurrent" ? CONCURRENT_RETRY_SECONDS : resetSeconds,
    ...rateStatus(limits, window, resetSeconds)
  })
}

const rateStatus = (
  { requestsPerMinute, tokensPerMinute }: CountedLimits,
  window: RateWindow,
  resetSeconds: number
): Pick<KeyRateLimited, "requests" | "tokens"> => ({
  requests:
    requestsPerMinute === undefined
      ? undefined
      : { limit: requestsPerMinute, remaining: Math.max(0, requestsPerMinute - window.requests), resetSeconds },
  tokens:
    tokensPerMinute === undefined
      ? undefined
      : {
          limit: Tokens.toCount(Tokens.Tokens(tokensPerMinute)),
          remaining: Tokens.toCount(
            Tokens.Tokens(window.tokens < tokensPerMinute ? tokensPerMinute - window.tokens : 0n)
          ),
          resetSeconds
        }
})

/**
 * Grows the budget part of a hold until it covers this usage, or until nothing more is available. If all budgets of
 * the key were removed after the admission of the request, the budget part is released.
 */
export const growKeyHold = (
  hold: KeyHold,
  usage: TokenUsage.TokenUsage,
  price: Price.Price,
  { counts: before, limits }: CountedKey,
  nowMillis: number
): KeyHeld => {
  const counts = countsAt(before, nowMillis)
  const held = hold.budgetPico ?? UsdPico.zero
  const available = availableBudget(limits, counts)
  const wanted = Price.cost(price, usage)
  const most = available === undefined ? 0n : available + held
  const limited = wanted < most ? wanted : most
  const budgetPico = available === undefined ? undefined : UsdPico.UsdPico(limited > held ? limited : held)
  if (budgetPico === hold.budgetPico) return { hold, counts: before }
  return {
    hold: { ...hold, budgetPico },
    counts: { ...counts, pending: afterRelease(counts.pending, held, budgetPico ?? 0n) }
  }
}

/**
 * Releases the budget part of a hold and adds the cost to the spend. The charged tokens replace the tokens that were
 * counted at the admission. If the window of the admission has ended, the current window counts the charged tokens
 * that exceed the tokens of the admission.
 */
export const settleKeyHold = (
  hold: KeyHold,
  cost: UsdPico.UsdPico,
  charged: TokenUsage.TokenUsage,
  before: KeyCounts,
  nowMillis: number
): KeyCounts => {
  const counts = spend(countsAt(before, nowMillis), cost)
  return {
    ...counts,
    pending: afterRelease(counts.pending, hold.budgetPico ?? 0n),
    openRequests: counts.openRequests - 1,
    window: corrected(counts.window, hold, TokenUsage.total(charged), nowMillis)
  }
}

/**
 * Returns the pending amount after a budget part was released or replaced. The result can be negative if a sweep has
 * already released the hold. A negative result is no error here, because the ledger does not write a decision about a
 * hold that a sweep has released.
 */
const afterRelease = (pending: UsdPico.UsdPico, released: bigint, replacement = 0n): UsdPico.UsdPico =>
  (pending - released + replacement) as UsdPico.UsdPico

const corrected = (window: RateWindow, hold: KeyHold, charged: bigint, nowMillis: number): RateWindow => {
  const excess = charged - hold.tokens
  const current = excess > 0n ? windowAt(window, nowMillis) : window
  if (excess <= 0n && current.number !== hold.window) return current
  const tokens = current.tokens + excess
  return { ...current, tokens: tokens > 0n ? tokens : 0n }
}
