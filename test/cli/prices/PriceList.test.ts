import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { readPriceList } from "../../../apps/cli/src/prices/PriceList.ts"
import { property } from "../../support/property.ts"

const list = (json: unknown) => Either.getOrThrow(readPriceList(json))
const modelsDev = (cost: object, limit: object = {}) => list({ lab: { models: { m: { cost, limit } } } })
const liteLlm = (costs: object, name = "m") => list({ sample_spec: {}, [name]: { litellm_provider: "lab", ...costs } })

describe("a price list of models.dev", () => {
  it("has prices in micro-USD per million tokens", () => {
    const prices = modelsDev({ input: 0.25, output: 2, cache_read: 0.025, cache_write: 0.3125 }, { output: 64_000 })
    expect([prices.source, prices.find("lab", "m")]).toEqual([
      "models.dev",
      { input: 250_000n, cacheRead: 25_000n, cacheWrite: 312_500n, output: 2_000_000n, maxOutputTokens: 64_000 }
    ])
  })

  it("has no unknown model and no inherited member of an object", () => {
    const prices = modelsDev({ input: 1 })
    expect([prices.find("other", "m"), prices.find("lab", "n"), prices.find("__proto__", "toString")]).toEqual([
      undefined,
      undefined,
      undefined
    ])
  })
})

describe("a price list of LiteLLM", () => {
  it("has prices in micro-USD per million tokens", () => {
    const prices = liteLlm({
      input_cost_per_token: 2.5e-7,
      output_cost_per_token: 0.000002,
      cache_read_input_token_cost: 2.5e-8,
      max_output_tokens: 128_000
    })
    expect([prices.source, prices.find("lab", "m")]).toEqual([
      "LiteLLM",
      { input: 250_000n, cacheRead: 25_000n, cacheWrite: undefined, output: 2_000_000n, maxOutputTokens: 128_000 }
    ])
  })

  it("finds a model under the key provider/model", () => {
    expect(liteLlm({ input_cost_per_token: 1e-6 }, "lab/m").find("lab", "m")?.input).toBe(1_000_000n)
    expect(liteLlm({ input_cost_per_token: 1e-6 }).find("other", "m")).toBeUndefined()
  })
})

describe("a price", () => {
  property("is exact for whole numbers of micro-USD", [fc.bigInt(0n, 10n ** 10n)], (micro) => {
    const text = `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, "0")}`
    return modelsDev({ input: Number(text) }).find("lab", "m")?.input === micro
  })

  it("is rounded up if it is a fraction of a micro-USD", () => {
    expect(modelsDev({ input: 0.0000001 }).find("lab", "m")?.input).toBe(1n)
    expect(liteLlm({ input_cost_per_token: 1.0000001e-6 }).find("lab", "m")?.input).toBe(1_000_001n)
  })

  it("is missing if it is negative or not a number", () => {
    for (const input of [-1, "0.25", null, Number.NaN]) {
      expect(modelsDev({ input }).find("lab", "m")?.input).toBeUndefined()
    }
  })
})

it.each([[[]], ["text"], [null], [{}], [{ a: 1 }]])("a file with the content %j is not a price list", (json) => {
  expect(Either.isLeft(readPriceList(json))).toBe(true)
})
