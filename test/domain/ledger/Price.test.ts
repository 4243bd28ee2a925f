import * as Price from "@tollgate/domain/ledger/Price"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { describe, expect, it } from "vitest"
import { price, tokens, usage } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const at = (perToken: bigint): Price.Price => ({
  input: Price.PicoPerToken(perToken),
  cacheWrite: Price.PicoPerToken(perToken),
  cacheRead: Price.PicoPerToken(perToken),
  output: Price.PicoPerToken(perToken)
})

describe("a price", () => {
  it("is the same number in micro-USD per million tokens and in pico-USD per token", () => {
    // 250,000 micro-USD per million tokens: a million tokens cost 0.25 USD.
    const cost = Price.cost(at(250_000n), TokenUsage.plain(Tokens.Tokens(1_000_000n), Tokens.zero))
    expect(cost).toBe(250_000n * 1_000_000n)
  })

  property("is exact, so two usages cost the sum of their costs", [price, usage, usage], (p, a, b) => {
    const both = {
      input: Tokens.add(a.input, b.input),
      cacheWrite: Tokens.add(a.cacheWrite, b.cacheWrite),
      cacheRead: Tokens.add(a.cacheRead, b.cacheRead),
      output: Tokens.add(a.output, b.output)
    }
    return Price.cost(p, both) === Price.cost(p, a) + Price.cost(p, b)
  })

  it("is so limited that the largest usage costs less than 2^63 pico-USD", () => {
    const most = Tokens.Tokens(Tokens.MAX_PER_CLASS)
    const largest = { input: most, cacheWrite: most, cacheRead: most, output: most }
    expect(Price.cost(at(Price.MAX_PICO_PER_TOKEN), largest)).toBeLessThan(2n ** 63n)
  })
})

describe("the cost of the first tokens", () => {
  property("does not decrease if the number of tokens increases", [price, usage, tokens(), tokens()], (p, u, a, b) => {
    const [less, more] = a < b ? [a, b] : [b, a]
    return Price.prefixCost(p, u, less) <= Price.prefixCost(p, u, more)
  })

  property("is the cost of the whole usage for all tokens", [price, usage], (p, u) => {
    const all = Price.cost(p, u)
    return Price.prefixCost(p, u, Tokens.zero) === 0n && Price.prefixCost(p, u, TokenUsage.total(u)) === all
  })

  it("includes input, then cache writes, then cache reads, then output", () => {
    const p: Price.Price = {
      input: Price.PicoPerToken(1n),
      cacheWrite: Price.PicoPerToken(10n),
      cacheRead: Price.PicoPerToken(100n),
      output: Price.PicoPerToken(1_000n)
    }
    const two = Tokens.Tokens(2n)
    const u = { input: two, cacheWrite: two, cacheRead: two, output: two }
    const steps = [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n].map((k) => Price.prefixCost(p, u, Tokens.Tokens(k)))
    expect(steps).toEqual([0n, 1n, 2n, 12n, 22n, 122n, 222n, 1222n, 2222n, 2222n])
  })
})
