/**
 * Computes each author's share of the tokens of all visible models, in basis points that add up to exactly 10,000
 * (docs/reference/rankings.md#h4).
 *
 * This is the largest-remainder method: each share is rounded down to whole basis points. The basis points that remain
 * are added one by one to the shares with the largest remainders.
 */
import * as Order from "effect/Order"
import * as Tokens from "../money/Tokens.ts"
import { isVisible, type ModelUsage } from "./ModelUsage.ts"
import type { AuthorShare } from "./Rankings.ts"

const WHOLE_BP = 10_000n

/**
 * Returns the shares, most tokens first. Authors with equal tokens are ordered by name. Empty if no visible model was
 * used.
 */
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

/**
 * Splits {@link WHOLE_BP} in proportion to the parts. Of two equal remainders, the earlier part gets a basis point
 * first.
 */
const largestRemainder = (parts: ReadonlyArray<bigint>): ReadonlyArray<bigint> => {
  const sum = parts.reduce((a, b) => a + b, 0n)
  const whole = parts.map((part) => (part * WHOLE_BP) / sum)
  const remaining = whole.reduce((a, b) => a - b, WHOLE_BP)
  const remainders = parts.map((part, i) => ({ i, remainder: (part * WHOLE_BP) % sum })).sort(byRemainder)
  const roundedUp = new Set(remainders.filter((_, place) => BigInt(place) < remaining).map(({ i }) => i))
  return whole.map((share, i) => (roundedUp.has(i) ? share + 1n : share))
}
