import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as SimulatedUpstream from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Scope } from "effect"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const scope = Effect.runSync(Scope.make())
let client: OpenAI

beforeAll(async () => {
  const started = SimulatedUpstream.start({ pace: 0 }).pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  client = new OpenAI({ baseURL: (await Effect.runPromise(started)).baseUrl, apiKey: "sk-any", maxRetries: 0 })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const vectorsOf = async (params: Partial<OpenAI.EmbeddingCreateParams>) => {
  const { data } = await client.embeddings.create({ model: "any-model", input: "hello", ...params })
  return data.map(({ embedding }) => [...embedding])
}

describe("simulated embeddings", () => {
  it("are equal for equal inputs", async () => {
    const [hello, world, again] = await vectorsOf({ input: ["hello", "world", "hello"] })
    expect(hello).toEqual(again)
    expect(hello).not.toEqual(world)
    expect(Math.hypot(...(hello ?? []))).toBeCloseTo(1, 5)
  })

  it("are the same vectors in base64 and as numbers", async () => {
    expect(await vectorsOf({})).toEqual(await vectorsOf({ encoding_format: "float" }))
  })

  it.each([1, 8, 13, 1_536])("have the requested number of dimensions: %i", async (dimensions) => {
    expect((await vectorsOf({ dimensions }))[0]).toHaveLength(dimensions)
  })

  it("count the tokens of texts and of token arrays", async () => {
    const usageOf = async (input: OpenAI.EmbeddingCreateParams["input"]) =>
      (await client.embeddings.create({ model: "any-model", input })).usage
    expect(await usageOf(["hello", "hello"])).toEqual({ prompt_tokens: 2, total_tokens: 2 })
    expect(await usageOf([[1, 2], [3]])).toEqual({ prompt_tokens: 3, total_tokens: 3 })
  })

  it.each([[{ dimensions: 0 }], [{ dimensions: 4_000 }], [{ encoding_format: "odd" as "float" }], [{ input: [] }]])(
    "are refused for the parameters %j",
    async (params) => {
      await expect(vectorsOf(params)).rejects.toMatchObject({ status: 400 })
    }
  )
})
