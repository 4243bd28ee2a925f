import { Tokens } from "@tollgate/domain/money/Tokens"
import { changeSince } from "@tollgate/domain/rankings/ModelUsage"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

interface Feed {
  readonly totalChange: (totals: { readonly tokens: number; readonly previous_tokens: number | null }) => number | null
}

const asset = new URL("../../../packages/adapters-http/assets/rankings/feed.js", import.meta.url).href
const { totalChange }: Feed = await import(asset)

const some = FastCheck.integer({ min: 1, max: 100_000 })
const tokens = FastCheck.integer({ min: 0, max: 100_000 })

describe("the change of the total on the rankings page", () => {
  it.each([
    [200, 201, 1],
    [200, 199, -1],
    [1_000, 995, -1],
    [200, 171, -15],
    [200, 229, 15],
    [3, 0, -100]
  ])("from %s to %s tokens is rounded to %s percent", (previous_tokens, tokens, percent) => {
    expect(totalChange({ tokens, previous_tokens })).toBe(percent)
  })

  it.each([null, 0])("has no percentage if the comparison period has %s tokens", (previous_tokens) => {
    expect(totalChange({ tokens: 1, previous_tokens })).toBeNull()
  })

  property("is rounded as the change of a model in the rankings", [some, tokens], (previous_tokens, tokens) => {
    const { changePct } = changeSince(Tokens(BigInt(previous_tokens)), Tokens(BigInt(tokens)))
    return String(totalChange({ tokens, previous_tokens })) === String(changePct)
  })
})
