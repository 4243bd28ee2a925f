import { estimateImage, type ImageEstimateFacts } from "@tollgate/domain/images/ImageEstimate"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const facts: ImageEstimateFacts = { prompt: "", size: "auto", quality: "auto", source: undefined }

const edge = FastCheck.integer({ min: 1, max: 4096 })
const quality = FastCheck.constantFrom("auto" as const, "low" as const, "medium" as const, "high" as const)
const request = FastCheck.record({
  prompt: FastCheck.fullUnicodeString({ maxLength: 2_000 }),
  size: FastCheck.oneof(FastCheck.constant("auto" as const), FastCheck.record({ widthPx: edge, heightPx: edge })),
  quality,
  source: FastCheck.option(FastCheck.constant({}), { nil: undefined })
})

/** Quality, width, height and token count that providers reported. */
const observed = [
  ["low", 1024, 1024, 272],
  ["low", 1024, 1536, 408],
  ["medium", 1024, 1024, 1056],
  ["medium", 1536, 1024, 1584],
  ["high", 1024, 1024, 4160],
  ["high", 1024, 1536, 6240]
] as const

describe("an image estimate", () => {
  it.each(observed)(
    "with quality %s and %i x %i pixels covers the %i tokens that a provider counted",
    (quality, widthPx, heightPx, tokens) => {
      const { output } = estimateImage({ ...facts, quality, size: { widthPx, heightPx } })
      expect(output).toBeGreaterThanOrEqual(BigInt(tokens))
      expect(output).toBeLessThan(BigInt(Math.ceil(tokens * 1.1)))
    }
  )

  it("assumes high quality and at least 1024 x 1536 pixels for auto", () => {
    expect(estimateImage(facts).output).toBe(estimateImage({ ...facts, quality: "high" }).output)
    expect(estimateImage(facts).output).toBeGreaterThanOrEqual(6_240n)
  })

  property("has at least one output token and an input floor of at most the input ceiling", [request], (request) => {
    const { inputCeiling, inputFloor, output } = estimateImage(request)
    return output >= 1n && inputFloor >= 0n && inputFloor <= inputCeiling
  })

  property(
    "has an input floor of one token per eight bytes of the prompt, and an input ceiling of one per three bytes",
    [FastCheck.string({ maxLength: 500, unit: "grapheme" })],
    (prompt) => {
      const bytes = new TextEncoder().encode(prompt).length
      const { inputCeiling, inputFloor } = estimateImage({ ...facts, prompt })
      return inputFloor === BigInt(Math.floor(bytes / 8)) && inputCeiling === BigInt(Math.ceil(bytes / 3))
    }
  )

  property(
    "does not decrease if the image is wider and a source image is added",
    [request, edge, edge],
    (request, widthPx, heightPx) => {
      const smaller = estimateImage({ ...request, size: { widthPx, heightPx } })
      const larger = estimateImage({ ...request, size: { widthPx: widthPx + 1, heightPx }, source: {} })
      return larger.output >= smaller.output && larger.inputCeiling >= smaller.inputCeiling
    }
  )
})
