import { MAX_IMAGE_BYTES, parseAroundImage, responseBody } from "@tollgate/adapters-http/images/ImageResponseBody"
import { MAX_RESPONSE_BYTES, ResponseBuffer } from "@tollgate/adapters-http/images/ResponseBuffer"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Effect, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"

const MIB = 1024 * 1024
const IMAGE = Buffer.from("not a real image").toString("base64")

const rewritten = async (text: string | Buffer, chunkBytes = 1_000_000) => {
  const whole = Buffer.from(text)
  const buffer = new ResponseBuffer()
  for (let at = 0; at < whole.length; at += chunkBytes) buffer.append(whole.subarray(at, at + chunkBytes))
  const { response } = buffer
  const parsed = parseAroundImage(response)
  if (parsed === undefined) return { _tag: "NoJson" as const }
  return Effect.runPromise(Effect.merge(responseBody(response, parsed, 1_763_620_000)))
}

const bodyFor = async (response: unknown) => {
  const result = await rewritten(typeof response === "string" ? response : JSON.stringify(response))
  return result._tag === "Completed" ? JSON.parse(result.image.toString()) : result._tag
}
const usageOf = async (usage: unknown) => {
  const result = await rewritten(JSON.stringify({ data: [{ b64_json: IMAGE }], usage }))
  return result._tag === "Completed" ? result.usage : result._tag
}

const unicodeEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const bare = { created: 1_763_620_000, data: [{ b64_json: IMAGE }] }

describe("the response to a client", () => {
  it("contains no unknown member of the provider's response", async () => {
    const response = {
      id: "img_123",
      model: "secret-model",
      created: 5,
      provider: "secret",
      data: [{ revised_prompt: "SECRET", b64_json: IMAGE, url: null }],
      background: "opaque",
      output_format: "webp",
      quality: "low",
      size: "1024x1536"
    }
    const { background, output_format, quality, size } = response
    expect(await bodyFor(response)).toEqual({ ...bare, background, output_format, quality, size })
  })

  it("omits a quality or format that clients cannot request", async () => {
    const odd = { background: "<b>", output_format: "heic", quality: "ultra", size: { w: 1 } }
    expect(await bodyFor({ data: [{ b64_json: IMAGE }], ...odd })).toEqual(bare)
  })

  it("states the reported usage by token class", async () => {
    const usage = {
      input_tokens: 50,
      output_tokens: 272,
      total_tokens: 999,
      input_tokens_details: { text_tokens: 10, image_tokens: 40, secret_tokens: 1 },
      cost: 0.5
    }
    expect(await bodyFor({ data: [{ b64_json: IMAGE }], usage })).toEqual({
      ...bare,
      usage: {
        input_tokens: 50,
        output_tokens: 272,
        total_tokens: 322,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 }
      }
    })
    expect(await bodyFor({ data: [{ b64_json: IMAGE }], usage: { total_tokens: 5 } })).toEqual(bare)
  })

  it("contains the image from differently formatted JSON", async () => {
    for (const response of [
      `{"data":[{"b64_json":"${IMAGE}"}]}`,
      `\n{ "x" : "b64_json" , "data" :\t[ { "a":{"b64_json":null} , "b64_json" \r\n:\n "${IMAGE}" } ] }\n`,
      `{"data":[{"revised_prompt":"say \\"b64_json\\": \\"x\\"","b64_json":"${IMAGE}"}],"usage":null}`
    ]) {
      expect(await bodyFor(response)).toEqual(bare)
    }
  })

  it.each([
    ["slashes", (image: string) => image.replaceAll("/", "\\/")],
    ["plus signs", (image: string) => image.replaceAll("+", "\\u002B")],
    ["padding", (image: string) => image.replaceAll("=", "\\u003d")],
    ["characters", (image: string) => [...image].map(unicodeEscape).join("")]
  ])("contains the provider's image if its %s are escaped", async (_, escaped) => {
    const image = Buffer.from([0xfb, 0xef, 0xff, 0xff, 0xfb, 0xff, 0xff]).toString("base64")
    expect(image).toMatch(/^(?=.*\/)(?=.*\+).*==$/)
    const usage = { input_tokens: 5, output_tokens: 6, total_tokens: 11 }
    const response = `{"data":[{"b64_json":"${escaped(image)}"}],"usage":${JSON.stringify(usage)}}`
    expect(await bodyFor(response)).toEqual({ ...bare, data: [{ b64_json: image }], usage })
  })

  it("contains the provider's image for random chunk sizes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 3_000 }),
        fc.integer({ min: 1, max: 500 }),
        async (bytes, chunkBytes) => {
          const b64_json = Buffer.from(bytes).toString("base64")
          const result = await rewritten(JSON.stringify({ created: 1, data: [{ b64_json }], size: "auto" }), chunkBytes)
          if (result._tag !== "Completed") throw new Error(result._tag)
          expect(JSON.parse(result.image.toString())).toEqual({ ...bare, data: [{ b64_json }], size: "auto" })
        }
      )
    )
  })
})

describe("an image response is unusable if it", () => {
  it.each([
    ["is HTML", "<html>oops</html>"],
    ["is truncated inside its image", `{"data":[{"b64_json":"${IMAGE}`],
    ["is truncated after its image", `{"data":[{"b64_json":"${IMAGE}"}`],
    ["is an array", `[{"b64_json":"${IMAGE}"}]`],
    ["has text after the JSON", `{"data":[{"b64_json":"${IMAGE}"}]} and more`],
    ["has more than 1 MiB around its image", `{"x":"${"x".repeat(1024 * 1024)}","data":[{"b64_json":"${IMAGE}"}]}`]
  ])("%s", async (_, response) => {
    expect((await rewritten(response))._tag).toBe("NoJson")
  })

  it.each([
    ["has no images", { data: [] }],
    ["has no data", { picture: { b64_json: IMAGE } }],
    ["has two images", { data: [{ b64_json: IMAGE }, { b64_json: IMAGE }] }],
    ["has a URL instead of an image", { data: [{ url: "https://provider.example/a.png" }] }],
    ["has a URL and a null image", { data: [{ url: "https://provider.example/a.png", b64_json: null }] }],
    ["has its image in another member", { b64_json: IMAGE, data: [{}] }],
    ["has an empty image", { data: [{ b64_json: "" }] }],
    ["has an image that is not base64", { data: [{ b64_json: "AAA?AAAA" }] }],
    ["has an image whose length is not a multiple of four characters", { data: [{ b64_json: "AAAAA" }] }],
    ["has an image with padding in the middle", { data: [{ b64_json: "AA==AAAA" }] }],
    ["has an image with too much padding", { data: [{ b64_json: "A===" }] }],
    ["has an image with a line break", { data: [{ b64_json: "AAAA\nAAA" }] }],
    ["has an image with a quote", { data: [{ b64_json: 'AAAA"AAA' }] }],
    ["has the parser's placeholder as its image", { data: [{ b64_json: "\u0000picture" }] }]
  ])("%s", async (_, response) => {
    expect((await rewritten(JSON.stringify(response)))._tag).toMatch(/UpstreamFailed|NoJson/)
  })
})

describe("an image", () => {
  const sized = async (bytes: number) => {
    const image = Buffer.alloc(Math.ceil(bytes / 3) * 4, "A")
    if (bytes % 3 !== 0) image.fill("=", image.length - (3 - (bytes % 3)))
    return (await rewritten(Buffer.concat([Buffer.from('{"data":[{"b64_json":"'), image, Buffer.from('"}]}')])))._tag
  }

  it("can have at most 20 MiB after decoding", async () => {
    expect(MAX_IMAGE_BYTES).toBe(20 * MIB)
    expect(await sized(MAX_IMAGE_BYTES)).toBe("Completed")
    expect(await sized(MAX_IMAGE_BYTES + 1)).toBe("TooLarge")
  })
})

describe("the usage of an image", () => {
  const details = { cached_tokens: 10 }
  it("contains a reported zero", async () => {
    expect(await usageOf({ input_tokens: 0, output_tokens: 0, total_tokens: 0 })).toEqual({
      prompt: { input: 0n, cacheRead: 0n, cacheWrite: 0n },
      output: 0n
    })
  })

  it("contains cached tokens separately", async () => {
    expect(await usageOf({ input_tokens: 50, input_tokens_details: details, output_tokens: 5 })).toEqual({
      prompt: { input: 40n, cacheRead: 10n, cacheWrite: 0n },
      output: 5n
    })
  })

  it("leaves a missing count unreported", async () => {
    expect(await usageOf({ output_tokens: 5 })).toEqual({ prompt: undefined, output: 5n })
    for (const usage of [undefined, null, {}, "5", { total_tokens: 7 }]) {
      expect(await usageOf(usage)).toEqual(ReportedUsage.unreported)
    }
  })
})

describe("the response buffer", () => {
  it("accepts at most 29 MiB", () => {
    const buffer = new ResponseBuffer()
    const mebibyte = Buffer.alloc(MIB)
    expect(MAX_RESPONSE_BYTES).toBe(29 * MIB)
    for (let i = 0; i < MAX_RESPONSE_BYTES / mebibyte.length; i++) expect(buffer.append(mebibyte.fill(i))).toBe(true)
    expect(buffer.append(Buffer.alloc(1))).toBe(false)
    const { memory: held, start, end } = buffer.response
    expect(end - start).toBe(MAX_RESPONSE_BYTES)
    for (let i = 0; start + i * mebibyte.length < end; i++) expect(held[start + i * mebibyte.length]).toBe(i)
  })
})
