/**
 * Defines numbers of model tokens: the unit of usage and of token plans.
 */
import * as Brand from "effect/Brand"

export type Tokens = bigint & Brand.Brand<"Tokens">
export const Tokens = Brand.refined<Tokens>(
  (n) => n >= 0n,
  (n) => Brand.error(`a number of tokens must not be negative, got ${n}`)
)

export const zero: Tokens = Tokens(0n)

/** The maximum number of tokens of one class that a request is charged for. The database has the same limit. */
export const MAX_PER_CLASS = 1_000_000_000n

/**
 * Converts a count that a provider or a tokenizer returned. Drops the fraction, and limits the count to the range from
 * 0 to {@link MAX_PER_CLASS}. An invalid count never fails, because it must not stop a settlement.
 */
export const fromCount = (count: number): Tokens => {
  if (!(count > 0)) return zero
  if (count >= 1e9) return Tokens(MAX_PER_CLASS)
  return Tokens(BigInt(Math.trunc(count)))
}

/**
 * Converts tokens of one class to a number for arithmetic on every frame of a stream. Exact up to
 * {@link MAX_PER_CLASS}.
 */
export const toCount = (tokens: Tokens): number => Number(tokens)

export const min = (a: Tokens, b: Tokens): Tokens => (a < b ? a : b)
export const add = (a: Tokens, b: Tokens): Tokens => Tokens(a + b)
export const sum = (all: ReadonlyArray<Tokens>): Tokens => Tokens(all.reduce((a, b) => a + b, 0n))
