/**
 * The price of a model consists of one rate for each token class.
 *
 * The unit is pico-USD per token. The same number is the price in micro-USD per million tokens. A stored price never
 * changes: a new price is a new row. A hold references the price that was valid when the request was admitted.
 */
import * as Brand from "effect/Brand"
import type { Tokens } from "../money/Tokens.ts"
import { UsdPico } from "../money/UsdPico.ts"
import type { TokenUsage } from "./TokenUsage.ts"

export type PicoPerToken = bigint & Brand.Brand<"PicoPerToken">
/**
 * The maximum rate: 1,000 USD per million tokens. The limit ensures that the cost of a request fits a 64-bit integer.
 */
export const MAX_PICO_PER_TOKEN = 1_000_000_000n
export const PicoPerToken = Brand.refined<PicoPerToken>(
  (n) => n >= 0n && n <= MAX_PICO_PER_TOKEN,
  (n) => Brand.error(`a price must be 0 to ${MAX_PICO_PER_TOKEN} pico-USD per token, got ${n}`)
)

export interface Price {
  readonly input: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly cacheRead: PicoPerToken
  readonly output: PicoPerToken
}

/**
 * Returns the token class of a prompt that has the highest rate. A request does not show how many tokens the provider
 * will read from a cache or write to a cache, so this class gives the highest possible cost of a prompt.
 */
export const dearestPromptClass = ({ input, cacheWrite, cacheRead }: Price): Exclude<keyof TokenUsage, "output"> => {
  const [dearest, rate]: ["input" | "cacheWrite", bigint] =
    cacheWrite > input ? ["cacheWrite", cacheWrite] : ["input", input]
  return cacheRead > rate ? "cacheRead" : dearest
}

/** Returns the exact cost of a usage in pico-USD. */
export const cost = (price: Price, usage: TokenUsage): UsdPico =>
  UsdPico(
    usage.input * price.input +
      usage.cacheWrite * price.cacheWrite +
      usage.cacheRead * price.cacheRead +
      usage.output * price.output
  )

/**
 * Returns the cost of the first `count` tokens of a usage, in pico-USD. The tokens are in the order in which a plan
 * covers them: input, cache write, cache read, output. A higher `count` never gives a lower cost. A `count` of at least
 * the total number of tokens gives the cost of the whole usage.
 */
export const prefixCost = (price: Price, usage: TokenUsage, count: Tokens): UsdPico => {
  let left: bigint = count
  let sum = 0n
  const take = (tokens: bigint, each: bigint) => {
    const taken = left < tokens ? left : tokens
    sum += taken * each
    left -= taken
  }
  take(usage.input, price.input)
  take(usage.cacheWrite, price.cacheWrite)
  take(usage.cacheRead, price.cacheRead)
  take(usage.output, price.output)
  return UsdPico(sum)
}
