import { chargeAtCheckpoint, checkpoint } from "@tollgate/domain/inference/Checkpoint"
import { estimate } from "@tollgate/domain/inference/Estimate"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { tokens } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

describe("a checkpoint", () => {
  const count = FastCheck.nat(1_000_000)

  property(
    "never has more output tokens than delivered deltas",
    [count, count, tokens()],
    (deltas, characters, inputFloor) => {
      const { output } = checkpoint({ deltas, characters, inputFloor })
      return output <= BigInt(deltas)
    }
  )

  it("charges nothing when no output was delivered", () => {
    const saved = checkpoint({ deltas: 0, characters: 0, inputFloor: Tokens.Tokens(500n) })
    const { charged, source } = chargeAtCheckpoint(saved)
    expect([charged.input, charged.output, source]).toEqual([0n, 0n, "none"])
  })

  property("never decreases while a request is running", [count, count, count, count], (d1, c1, d2, c2) => {
    const inputFloor = Tokens.Tokens(9n)
    const earlier = checkpoint({ deltas: d1, characters: c1, inputFloor })
    const later = checkpoint({ deltas: d1 + d2, characters: c1 + c2, inputFloor })
    return earlier.output <= later.output && earlier.input <= later.input
  })
})

describe("an estimate", () => {
  const size = FastCheck.record({
    textBytes: FastCheck.nat(32 * 1024 * 1024),
    attachments: FastCheck.nat(100),
    maxOutputTokens: FastCheck.option(FastCheck.integer(), { nil: undefined }),
    choices: FastCheck.integer({ min: 1, max: 128 })
  })

  property(
    "has an input floor of at most the input ceiling, and one output token or more for a request with output",
    [size],
    (s) => {
      const { inputFloor, inputCeiling, output } = estimate(s)
      return inputFloor <= inputCeiling && output >= 1n
    }
  )

  property(
    "has an input limit of one token for each byte, or more with attachments",
    [size, FastCheck.nat(9_999)],
    (s, n) => {
      const { inputCeiling, inputLimit } = estimate({ ...s, structureBytes: n })
      const attachmentTokens = 1_600n * BigInt(s.attachments)
      return inputLimit === BigInt(s.textBytes + n) + attachmentTokens && inputCeiling <= inputLimit
    }
  )

  const outputOf = (maxOutputTokens: number | undefined, streamed: boolean, modelMaxOutputTokens?: number) =>
    estimate({ textBytes: 1, attachments: 0, maxOutputTokens, choices: 1 }, { streamed, modelMaxOutputTokens }).output

  it("sets aside the smaller limit of caller and model for a whole response", () => {
    expect(outputOf(100_000, false, 64_000)).toBe(64_000n)
    expect(outputOf(500, false, 64_000)).toBe(500n)
    expect(outputOf(undefined, false, 64_000)).toBe(64_000n)
  })

  it("sets aside the caller's limit for a whole response if the model has none", () => {
    expect(outputOf(1_000_000, false)).toBe(1_000_000n)
  })

  it("sets aside 16,384 output tokens for a whole response without a limit", () => {
    expect(outputOf(undefined, false)).toBe(16_384n)
  })

  it("sets aside the first slice for a stream", () => {
    expect(outputOf(100_000, true, 64_000)).toBe(1_024n)
  })

  it("sets aside the limit of a stream if the limit is less than the first slice", () => {
    expect(outputOf(10, true)).toBe(10n)
  })

  property("has no output token for a request that generates no output", [size], (s) => {
    const { inputFloor, inputCeiling, output } = estimate({ ...s, promptOnly: true })
    return inputFloor >= 1n && inputFloor <= inputCeiling && output === 0n
  })

  property(
    "has the number of given token ids as its input floor, input ceiling and input limit",
    [FastCheck.integer({ min: 1, max: 9 })],
    (n) => {
      const size = { textBytes: 0, attachments: 0, maxOutputTokens: undefined, choices: 1, countedTokens: n }
      const { inputFloor, inputCeiling, inputLimit } = estimate(size)
      return inputFloor === BigInt(n) && inputCeiling === BigInt(n) && inputLimit === BigInt(n)
    }
  )

  it("sets aside 200,000 prompt tokens for the unsized content of a request", () => {
    const one = { textBytes: 30, attachments: 0, maxOutputTokens: 10, choices: 1 }
    expect(estimate({ ...one, hasUnsizedContent: true }).unsizedInput).toBe(200_000n)
    expect(estimate({ ...one, hasUnsizedContent: false }).unsizedInput).toBeUndefined()
    const { unsizedInput: _, ...rest } = estimate({ ...one, hasUnsizedContent: true })
    expect(rest).toEqual(estimate(one))
  })

  it("multiplies the output tokens by the number of choices", () => {
    const { output } = estimate({ textBytes: 1, attachments: 0, maxOutputTokens: 100, choices: 3 })
    expect(output).toBe(300n)
  })
})
