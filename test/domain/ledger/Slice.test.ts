import { extensionSize, FIRST_SLICE, isSliceDue, nextSlice } from "@tollgate/domain/ledger/Slice"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

describe("a slice", () => {
  it("has 1,024 tokens at first and doubles up to 65,536", () => {
    const slices = [FIRST_SLICE]
    for (let i = 0; i < 8; i++) slices.push(nextSlice(slices.at(-1) ?? FIRST_SLICE))
    expect(slices).toEqual([1_024n, 2_048n, 4_096n, 8_192n, 16_384n, 32_768n, 65_536n, 65_536n, 65_536n])
  })

  it("is due when less than half of the last slice remains", () => {
    expect(isSliceDue(512, FIRST_SLICE)).toBe(false)
    expect(isSliceDue(511, FIRST_SLICE)).toBe(true)
  })

  property(
    "is not due directly after an extension",
    [FastCheck.nat(1_000_000), FastCheck.constantFrom(1_024n, 2_048n, 65_536n)],
    (waiting, size) => {
      const slice = Tokens.Tokens(size)
      return !isSliceDue(Tokens.toCount(extensionSize(waiting, slice)) - waiting, slice)
    }
  )
})
