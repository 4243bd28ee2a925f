/**
 * The price of a model's tokens in each class.
 *
 * The unit is pico-USD per token, which is the same integer as micro-USD per million tokens. A price is never
 * changed: a new one is a new row, and a hold names the price it was admitted at.
 */
import * as Brand from "effect/Brand"
import type { Tokens } from "../money/Tokens.ts"
import { UsdPico } from "../money/UsdPico.ts"
import type { TokenUsage } from "./TokenUsage.ts"

export type PicoPerToken = bigint & Brand.Brand<"PicoPerToken">
/** At most 1,000 USD per million tokens, so that no request's cost can leave a 64-bit integer. */
export const MAX_PICO_PER_TOKEN = 1_000_000_000n
export const PicoPerToken = Brand.refined<PicoPerToken>(
  (n) => n >= 0n && n <= MAX_PICO_PER_TOKEN,
  (n) => Brand.error(`a price is 0 to ${MAX_PICO_PER_TOKEN} pico-USD per token, got ${n}`)
)

export interface Price {
  readonly input: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly cacheRead: PicoPerToken
  readonly output: PicoPerToken
}

/** The exact cost of a usage. */
export const cost = (price: Price, usage: TokenUsage): UsdPico =>
  UsdPico(
    usage.input * price.input +
      usage.cacheWrite * price.cacheWrite +
      usage.cacheRead * price.cacheRead +
      usage.output * price.output
  )

/**
 * The cost of the first `count` tokens of a usage, in the order a plan covers them: input, cache write, cache
 * read, output. Grows with `count`, and is the whole cost from the usage's total on.
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
