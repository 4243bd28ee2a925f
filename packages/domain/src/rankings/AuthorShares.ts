/**
 * Each author's share of the tokens of visible models, in basis points that add up to exactly 10,000
 * (docs/reference/rankings.md#h4).
 *
 * The method is the largest remainder: each author gets its whole basis points, and the remaining ones go, one each, to the
 * authors with the largest fractions.
 */
import * as Order from "effect/Order"
import * as Tokens from "../money/Tokens.ts"
import { isVisible, type ModelUsage } from "./ModelUsage.ts"
import type { AuthorShare } from "./Rankings.ts"

const WHOLE_BP = 10_000n

/** Most tokens first; equals by name. Empty when there are no tokens to share. */
export const authorSharesOf = (usages: ReadonlyArray<ModelUsage>): ReadonlyArray<AuthorShare> => {
  const byAuthor = new Map<string, Tokens.Tokens>()
  for (const { model, tokens } of usages) {
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

/** Among equal remainders, the earlier part comes first. */
const largestRemainder = (parts: ReadonlyArray<bigint>): ReadonlyArray<bigint> => {
  const sum = parts.reduce((a, b) => a + b, 0n)
  const whole = parts.map((part) => (part * WHOLE_BP) / sum)
  const remaining = whole.reduce((a, b) => a - b, WHOLE_BP)
  const closest = parts.map((part, i) => ({ i, remainder: (part * WHOLE_BP) % sum })).sort(byRemainder)
  const roundedUp = new Set(closest.filter((_, place) => BigInt(place) < remaining).map(({ i }) => i))
  return whole.map((share, i) => (roundedUp.has(i) ? share + 1n : share))
}
