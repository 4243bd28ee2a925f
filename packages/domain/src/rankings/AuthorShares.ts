/**
 * What part of the tokens of visible models each author's models have, in basis points that add up to exactly 10,000
 * (gap H4).
 *
 * By largest remainder: everybody gets the whole basis points, and what is left over goes, one each, to those who came
 * closest to one more.
 */
import * as Order from "effect/Order"
import * as Tokens from "../money/Tokens.ts"
import type { AuthorShare } from "./Rankings.ts"
import { isVisible, type Standing } from "./Standing.ts"

const WHOLE = 10_000n

/** Most tokens first; equals by name. Empty when there are no tokens to share. */
export const authorSharesOf = (standings: ReadonlyArray<Standing>): ReadonlyArray<AuthorShare> => {
  const byAuthor = new Map<string, Tokens.Tokens>()
  for (const { model, tokens } of standings) {
    if (!isVisible(model) || tokens === 0n) continue
    byAuthor.set(model.author, Tokens.add(byAuthor.get(model.author) ?? Tokens.zero, tokens))
  }
  const authors = [...byAuthor].map(([author, tokens]) => ({ author, tokens })).sort(byTokens)
  const shares = largestRemainder(authors.map(({ tokens }) => tokens))
  return authors.map((author, i) => ({ ...author, shareBp: shares[i] ?? 0n }))
}

interface Author {
  readonly author: string
  readonly tokens: Tokens.Tokens
}

const byTokens: Order.Order<Author> = Order.combine(
  Order.reverse(Order.mapInput(Order.bigint, ({ tokens }: Author) => tokens)),
  Order.mapInput(Order.string, ({ author }) => author)
)

interface Remainder {
  readonly i: number
  readonly remainder: bigint
}

const byRemainder: Order.Order<Remainder> = Order.reverse(Order.mapInput(Order.bigint, ({ remainder }) => remainder))

/** Of equal remainders, the earlier one is served first. */
const largestRemainder = (parts: ReadonlyArray<bigint>): ReadonlyArray<bigint> => {
  const sum = parts.reduce((a, b) => a + b, 0n)
  const whole = parts.map((part) => (part * WHOLE) / sum)
  const left = whole.reduce((a, b) => a - b, WHOLE)
  const closest = parts.map((part, i) => ({ i, remainder: (part * WHOLE) % sum })).sort(byRemainder)
  const served = new Set(closest.filter((_, place) => BigInt(place) < left).map(({ i }) => i))
  return whole.map((share, i) => (served.has(i) ? share + 1n : share))
}
