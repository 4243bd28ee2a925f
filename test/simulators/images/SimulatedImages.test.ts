import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import { type PictureFormat, pictureOf } from "@tollgate/simulators/images/SimulatedPicture"
import * as SimulatedUpstream from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Scope } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import OpenAI, { toFile } from "openai"
import { PNG } from "pngjs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const scope = Effect.runSync(Scope.make())
let client: OpenAI

beforeAll(async () => {
  const started = SimulatedUpstream.start({ pace: 0 }).pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  client = new OpenAI({ baseURL: (await Effect.runPromise(started)).baseUrl, apiKey: "sk-any", maxRetries: 0 })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const prompt = "A tollgate in the morning"
const fileOf = ({ data }: OpenAI.ImagesResponse) => Buffer.from(data?.[0]?.b64_json ?? "", "base64")
const magic = { png: "89504e47", jpeg: "ffd8ffe0", webp: "52494646" }

describe("a simulated image", () => {
  it("is a PNG with the requested proportions", async () => {
    const image = await client.images.generate({ model: "any", prompt, size: "1024x1536", quality: "low" })
    const { width, height } = PNG.sync.read(fileOf(image))
    expect([width, height]).toEqual([171, 256])
    const text_tokens = countTokens(prompt)
    expect(image).toMatchObject({
      output_format: "png",
      size: "1024x1536",
      quality: "low",
      usage: {
        input_tokens: text_tokens,
        input_tokens_details: { text_tokens, image_tokens: 0 },
        output_tokens: 408,
        total_tokens: text_tokens + 408
      }
    })
  })

  it("is transparent if the request says so", async () => {
    const alphas = async (background: "opaque" | "transparent") => {
      const { data } = PNG.sync.read(fileOf(await client.images.generate({ model: "any", prompt, background })))
      return new Set(data.filter((_, i) => i % 4 === 3)).size
    }
    expect(await alphas("opaque")).toBe(1)
    expect(await alphas("transparent")).toBeGreaterThan(100)
  })

  it.each(["png", "jpeg", "webp"] as const)("has the requested format %s", async (output_format: PictureFormat) => {
    const image = await client.images.generate({ model: "any", prompt, output_format })
    expect(fileOf(image).toString("hex", 0, 4)).toBe(magic[output_format])
    expect(fileOf(image).length).toBeLessThan(64 * 1024)
  })

  it("depends on the prompt", () => {
    const of = (words: string) => pictureOf({ format: "png", widthPx: 8, heightPx: 8, transparent: false, words })
    expect(of("a")).toBe(of("a"))
    expect(of("a")).not.toBe(of("b"))
  })

  it("can be an edit of a source image", async () => {
    const source = Buffer.from(
      pictureOf({ format: "jpeg", widthPx: 48, heightPx: 32, transparent: false, words: "" }),
      "base64"
    )
    const edited = await client.images.edit({ model: "any", prompt, image: await toFile(source, "a.jpg") })
    expect(edited.usage?.input_tokens_details.image_tokens).toBe(323)
    expect(PNG.sync.read(fileOf(edited)).width).toBe(256)
    const without = client.images.edit({ model: "any", prompt, image: [] })
    await expect(without).rejects.toMatchObject({ status: 400, param: "image" })
  })

  it("requires a prompt", async () => {
    await expect(client.images.generate({ model: "any", prompt: "" })).rejects.toMatchObject({ param: "prompt" })
  })
})
