/**
 * Tests image requests with unmodified clients, a complete gateway and a scripted upstream.
 */
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createOpenAI } from "@ai-sdk/openai"
import { type PictureFormat, pictureOf } from "@tollgate/simulators/images/SimulatedPicture"
import { generateImage } from "ai"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"
import { json } from "../support/upstream/Script.ts"

const pictured = (format: PictureFormat) =>
  pictureOf({ format, widthPx: 64, heightPx: 32, transparent: false, words: "a cat" })
const PICTURE = pictured("png")
const source = Buffer.from(pictured("jpeg"), "base64")
const usage = { input_tokens: 10, output_tokens: 272, total_tokens: 282 }
/** The cost of this usage. An input token costs 1 micro-USD, an output token 2 micro-USD. */
const COST_USD_MICRO = 10n + 2n * 272n
const upstreamBody = { created: 5, data: [{ b64_json: PICTURE, revised_prompt: "SECRET" }], usage, provider: "SECRET" }

let gateway: TestGateway
let client: OpenAI
let folder: string
beforeAll(async () => {
  gateway = await TestGateway.start({
    recorded: true,
    settings: { SERVICE_NAME: "acme" },
    provider: { protocols: ["images"] },
    model: { kind: "image", capabilities: ["generate", "edit"] }
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
  folder = mkdtempSync(join(tmpdir(), "tollgate-images-"))
  writeFileSync(join(folder, "cat.jpg"), source)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await gateway.close()
})

const cost = async <A>(call: () => Promise<A>): Promise<readonly [A, bigint]> => {
  const before = await gateway.balanceUsdMicro()
  const result = await call()
  return [result, before - (await gateway.balanceUsdMicro())]
}

describe("the OpenAI SDK", () => {
  it("pays for the reported usage of an image", async () => {
    gateway.upstream.next(json(upstreamBody))
    const [{ data, response }, paid] = await cost(() =>
      client.images.generate({ model: "m", prompt: "a cat", size: "1024x1024", quality: "low" }).withResponse()
    )
    expect(data.data).toEqual([{ b64_json: PICTURE }])
    expect(data.usage).toMatchObject(usage)
    expect(response.headers.get("x-acme-billing")).toBe("settled")
    expect(paid).toBe(COST_USD_MICRO)
    const request = await gateway.upstream.received()
    expect(request.json()).toEqual({ model: "upstream-model", prompt: "a cat", size: "1024x1024", quality: "low" })
  })

  it.each([
    ["a file", () => toFile(source, "cat.png", { type: "image/png" })],
    ["a stream", async () => createReadStream(join(folder, "cat.jpg"))],
    ["an array", async () => [await toFile(source, "cat.jpg")]]
  ])("edits an image that is sent as %s", async (_, image) => {
    gateway.upstream.next(json(upstreamBody))
    const [edited, paid] = await cost(async () =>
      client.images.edit({ model: "m", prompt: "a hat on it", n: 1, image: await image() })
    )
    expect(edited.data?.[0]?.b64_json).toBe(PICTURE)
    expect(paid).toBe(COST_USD_MICRO)
    const { headers, body } = await gateway.upstream.received()
    const type = headers["content-type"] ?? ""
    const form = await new Response(Buffer.from(body), { headers: { "content-type": String(type) } }).formData()
    const file = form.get("image") as File
    expect([...form.keys()].sort()).toEqual(["image", "model", "n", "prompt"])
    expect([file.type, Buffer.from(await file.arrayBuffer()).equals(source)]).toEqual(["image/jpeg", true])
  })

  it("pays nothing for an image without reported usage", async () => {
    gateway.upstream.next(json({ data: [{ b64_json: PICTURE }] }))
    const [{ response }, paid] = await cost(() =>
      client.images.generate({ model: "m", prompt: "a cat" }).withResponse()
    )
    expect([response.headers.get("x-acme-billing"), paid]).toEqual(["unmetered", 0n])
  })

  it("receives a content policy error for a declined prompt", async () => {
    gateway.upstream.next(json({ error: { code: "moderation_blocked", message: "No cats, please." } }, 400))
    const [error, paid] = await cost(() => client.images.generate({ model: "m", prompt: "x" }).catch((it) => it))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect([error.code, error.message, paid]).toEqual(["content_policy_violation", "400 No cats, please.", 0n])
  })

  it("receives 409 idempotency_key_reused when it repeats an Idempotency-Key", async () => {
    gateway.upstream.next(json(upstreamBody))
    const headers = { "Idempotency-Key": "order-17" }
    const retrying = client.withOptions({ maxRetries: 2 })
    await retrying.images.generate({ model: "m", prompt: "a cat" }, { headers })
    const asked = gateway.upstream.requests.length
    const again = retrying.images.generate({ model: "m", prompt: "a cat" }, { headers }).catch((error) => error)
    expect(await again).toMatchObject({ status: 409, code: "idempotency_key_reused" })
    expect(gateway.upstream.requests.length).toBe(asked)
  })

  it("receives 400 unsupported_parameter when it requests URLs, streams or masks", async () => {
    const ask = { model: "m", prompt: "a cat" }
    const mask = await toFile(source, "mask.png")
    const image = await toFile(source, "cat.jpg")
    for (const [param, call] of [
      ["response_format", () => client.images.generate({ ...ask, response_format: "url" })],
      ["stream", () => client.images.generate({ ...ask, stream: true })],
      ["mask", () => client.images.edit({ ...ask, image, mask })]
    ] as const) {
      const error = await call().catch((it: unknown) => it)
      expect(error).toMatchObject({ status: 400, code: "unsupported_parameter", param })
    }
  })
})

describe("the AI SDK", () => {
  const model = () => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key }).image("m")

  it("generates an image", async () => {
    gateway.upstream.next(json(upstreamBody))
    const [{ image }, paid] = await cost(() =>
      generateImage({ model: model(), prompt: "a cat", size: "1024x1024", maxRetries: 0 })
    )
    expect([image.base64, image.mediaType, paid]).toEqual([PICTURE, "image/png", COST_USD_MICRO])
    expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ prompt: "a cat", size: "1024x1024", n: 1 })
  })

  it("edits an image", async () => {
    gateway.upstream.next(json(upstreamBody))
    const prompt = { text: "a hat on it", images: [source] }
    const [{ image }, paid] = await cost(() => generateImage({ model: model(), prompt, maxRetries: 0 }))
    expect([image.base64, paid]).toEqual([PICTURE, COST_USD_MICRO])
    expect(gateway.upstream.requests.at(-1)?.path).toBe("/v1/images/edits")
  })

  it("raises an error with the status and body of a refusal", async () => {
    const asking = generateImage({ model: model(), prompt: "a cat", size: "5000x1", maxRetries: 0 })
    expect(await asking.catch((error: unknown) => error)).toMatchObject({
      statusCode: 400,
      data: { error: { code: "invalid_request", param: "size" } }
    })
  })
})

describe("every response in this file", () => {
  it("contains no provider name, provider host, key or cost", () => {
    expect(gateway.leaks).toEqual([])
  })
})
