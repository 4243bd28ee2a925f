/**
 * Simulates OpenAI's embeddings API. A vector depends only on the model, the input and the number of dimensions. Its
 * Euclidean length is 1.
 */
import { createHash } from "node:crypto"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { promptText } from "@tollgate/domain/inference/EmbeddingsPrompt"
import { asArray, asText } from "@tollgate/domain/inference/Json"
import * as Effect from "effect/Effect"
import { type SimulatedProtocol, SimulatedRefusal } from "../sharing/SimulatedProtocol.ts"
import { pieceDelay } from "./SimulatedModel.ts"

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 3_072

const refusal = (param: string, message: string) => new SimulatedRefusal({ status: 400, message, param })

export const make = (): SimulatedProtocol => ({
  path: "/embeddings",
  respond: (request) =>
    Effect.gen(function* () {
      const { input, dimensions = DEFAULT_DIMENSIONS, encoding_format: format = "float" } = request
      const list = asArray(input)
      const inputs = typeof input === "string" || typeof list[0] === "number" ? [input] : list
      if (inputs.length === 0) return yield* refusal("input", "input: at least one is required")
      if (format !== "float" && format !== "base64")
        return yield* refusal("encoding_format", "encoding_format: must be float or base64")
      if (typeof dimensions !== "number" || !Number.isInteger(dimensions) || dimensions < 1) {
        return yield* refusal("dimensions", "dimensions: must be an integer of at least 1")
      }
      if (dimensions > MAX_DIMENSIONS)
        return yield* refusal("dimensions", `dimensions: must be at most ${MAX_DIMENSIONS}`)
      const model = asText(request.model)
      const { separateTexts = [], extraTokens } = promptText(request)
      const counter = yield* TokenCounter
      const counts = yield* Effect.forEach(separateTexts, counter.count)
      const tokens = counts.reduce((sum, count) => sum + Number(count), extraTokens)
      const data = inputs.map((each, index) => {
        const vector = vectorOf(`${model} ${JSON.stringify(each)}`, dimensions)
        return { object: "embedding", index, embedding: format === "float" ? [...vector] : base64Of(vector) }
      })
      const usage = { prompt_tokens: tokens, total_tokens: tokens }
      return { _tag: "Whole", afterMillis: yield* pieceDelay, body: { object: "list", data, model, usage } }
    })
})

/** Computes a vector of Euclidean length 1. A SHA-256 hash of a counter and the seed gives up to eight values. */
const vectorOf = (seed: string, dimensions: number): Float32Array => {
  const vector = new Float32Array(dimensions)
  for (let block = 0; block * 8 < dimensions; block++) {
    const hash = createHash("sha256").update(`${block} ${seed}`).digest()
    for (let i = 0; i < 8 && block * 8 + i < dimensions; i++) {
      vector[block * 8 + i] = hash.readInt32LE(i * 4) / 0x80000000
    }
  }
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

const base64Of = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, i) => {
    bytes.writeFloatLE(value, i * 4)
  })
  return bytes.toString("base64")
}
