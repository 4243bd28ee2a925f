import { Tokens } from "@tollgate/domain/money/Tokens"
import { changeSince } from "@tollgate/domain/rankings/ModelUsage"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const tokens = FastCheck.bigInt({ min: 0n, max: 10n ** 18n }).map(Tokens)
const some = FastCheck.bigInt({ min: 1n, max: 10n ** 12n }).map(Tokens)

describe("the change of usage", () => {
  it.each([
    [200, 100, -50n],
    [200, 201, 1n],
    [200, 199, -1n],
    [400, 401, 0n],
    [400, 399, 0n],
    [1_000, 1_004, 0n],
    [1_000, 1_005, 1n],
    [1_000, 995, -1n],
    [3, 0, -100n],
    [1, 3, 200n]
  ])("from %s to %s tokens is rounded to %s percent", (before, after, percent) => {
    expect(changeSince(Tokens(BigInt(before)), Tokens(BigInt(after)))).toEqual({ changePct: percent, isNew: false })
  })

  it("from zero tokens marks a used model as new", () => {
    expect(changeSince(Tokens(0n), Tokens(1n))).toEqual({ changePct: null, isNew: true })
  })

  it("from zero to zero tokens has no percentage", () => {
    expect(changeSince(Tokens(0n), Tokens(0n))).toEqual({ changePct: null, isNew: false })
  })

  it("has no percentage without a comparison period", () => {
    expect(changeSince(null, Tokens(1n))).toEqual({ changePct: null, isNew: false })
  })

  property("differs from the exact change by at most half a percent", [some, some], (before, after) => {
    const { changePct } = changeSince(before, after)
    if (changePct === null) return false
    const error = (after - before) * 100n - changePct * before
    return 2n * (error < 0n ? -error : error) <= before
  })

  property("is never below -100 percent", [some, tokens], (before, after) => {
    const { changePct } = changeSince(before, after)
    return changePct !== null && Number.isSafeInteger(Number(changePct)) && changePct >= -100n
  })
})
