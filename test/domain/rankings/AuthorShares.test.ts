import { Tokens } from "@tollgate/domain/money/Tokens"
import { authorSharesOf } from "@tollgate/domain/rankings/AuthorShares"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { aModel } from "../../support/rankings.ts"

const standing = (author: string, tokens: bigint, hidden = false) => ({
  model: { ...aModel(`${author}-model`, { author, hidden }), tokens: [], speed: undefined },
  tokens: Tokens(tokens),
  previousTokens: null
})

const standings = FastCheck.array(
  FastCheck.tuple(
    FastCheck.constantFrom(..."abcdefghijklmnopqrstuvwxyz"),
    FastCheck.oneof(FastCheck.bigInt(0n, 20n), FastCheck.bigInt(0n, 10n ** 15n)),
    FastCheck.boolean()
  ).map(([author, tokens, hidden]) => standing(author, tokens, hidden)),
  { maxLength: 40 }
)

describe("the authors' shares", () => {
  property("add up to 10,000 basis points if a visible model was used", [standings], (standings) => {
    const shares = authorSharesOf(standings)
    const used = standings.some(({ model, tokens }) => !model.hidden && tokens > 0n)
    return shares.reduce((sum, { shareBp }) => sum + shareBp, 0n) === (used ? 10_000n : 0n)
  })

  property("each differ from the exact share by less than one basis point", [standings], (standings) => {
    const shares = authorSharesOf(standings)
    const total = shares.reduce((sum, { tokens }) => sum + tokens, 0n)
    return shares.every(({ tokens, shareBp }) => {
      const error = shareBp * total - tokens * 10_000n
      return error < total && -error < total
    })
  })

  property("are sorted by tokens, largest first", [standings], (standings) => {
    const shares = authorSharesOf(standings)
    return shares.every(({ tokens, shareBp }, i) => {
      const before = shares[i - 1]
      return before === undefined || (before.tokens >= tokens && before.shareBp >= shareBp)
    })
  })

  it("are rounded up first where the remainder is largest", () => {
    const sharesOf = (...standings: ReadonlyArray<ReturnType<typeof standing>>) =>
      authorSharesOf(standings).map(({ author, shareBp }) => [author, shareBp])
    expect(sharesOf(standing("a", 4n), standing("b", 2n), standing("c", 1n))).toEqual([
      ["a", 5_714n],
      ["b", 2_857n],
      ["c", 1_429n]
    ])
    expect(sharesOf(standing("c", 1n), standing("b", 1n), standing("a", 1n))).toEqual([
      ["a", 3_334n],
      ["b", 3_333n],
      ["c", 3_333n]
    ])
  })

  it("exclude an author whose models are all hidden", () => {
    const shares = authorSharesOf([standing("a", 5n), standing("b", 5n, true)])
    expect(shares.map(({ author }) => author)).toEqual(["a"])
  })
})
