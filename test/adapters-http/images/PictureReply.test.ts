import { ANSWER_BYTES, AnswerMemory } from "@tollgate/adapters-http/images/AnswerMemory"
import { frameOf, PICTURE_BYTES, replyWith } from "@tollgate/adapters-http/images/PictureReply"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { Effect, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"

const PICTURE = Buffer.from("a picture, more or less").toString("base64")

const reply = async (text: string | Buffer, pieceBytes = 1_000_000) => {
  const whole = Buffer.from(text)
  const memory = new AnswerMemory()
  for (let at = 0; at < whole.length; at += pieceBytes) memory.take(whole.subarray(at, at + pieceBytes))
  const { gathered } = memory
  const framed = frameOf(gathered)
  if (framed === undefined) return { _tag: "NoJson" as const }
  return Effect.runPromise(Effect.merge(replyWith(gathered, framed, 1_763_620_000)))
}

const told = async (answer: unknown) => {
  const made = await reply(typeof answer === "string" ? answer : JSON.stringify(answer))
  return made._tag === "Pictured" ? JSON.parse(made.picture.toString()) : made._tag
}
const usageOf = async (usage: unknown) => {
  const made = await reply(JSON.stringify({ data: [{ b64_json: PICTURE }], usage }))
  return made._tag === "Pictured" ? made.usage : made._tag
}

const bare = { created: 1_763_620_000, data: [{ b64_json: PICTURE }] }

describe("the reply to a customer", () => {
  it("is the picture, when it was made, and nothing that the supplier says of itself", async () => {
    const answer = {
      id: "img_123",
      model: "secret-model",
      created: 5,
      provider: "secret",
      data: [{ revised_prompt: "SECRET", b64_json: PICTURE, url: null }],
      background: "opaque",
      output_format: "webp",
      quality: "low",
      size: "1024x1536"
    }
    const { background, output_format, quality, size } = answer
    expect(await told(answer)).toEqual({ ...bare, background, output_format, quality, size })
  })

  it("repeats what describes the picture only in the words of the specification", async () => {
    const odd = { background: "<b>", output_format: "heic", quality: "ultra", size: { w: 1 } }
    expect(await told({ data: [{ b64_json: PICTURE }], ...odd })).toEqual(bare)
  })

  it("tells usage where the supplier does, in its classes, the total being their sum", async () => {
    const usage = {
      input_tokens: 50,
      output_tokens: 272,
      total_tokens: 322,
      input_tokens_details: { text_tokens: 10, image_tokens: 40, secret_tokens: 1 },
      cost: 0.5
    }
    expect(await told({ data: [{ b64_json: PICTURE }], usage })).toEqual({
      ...bare,
      usage: {
        input_tokens: 50,
        output_tokens: 272,
        total_tokens: 322,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 }
      }
    })
    expect(await told({ data: [{ b64_json: PICTURE }], usage: { total_tokens: 5 } })).toEqual(bare)
  })

  it("has the picture found wherever it stands, however the JSON is written", async () => {
    for (const answer of [
      `{"data":[{"b64_json":"${PICTURE}"}]}`,
      `\n{ "x" : "b64_json" , "data" :\t[ { "a":{"b64_json":null} , "b64_json" \r\n:\n "${PICTURE}" } ] }\n`,
      `{"data":[{"revised_prompt":"say \\"b64_json\\": \\"x\\"","b64_json":"${PICTURE}"}],"usage":null}`
    ]) {
      expect(await told(answer)).toEqual(bare)
    }
  })

  it("keeps slashes that were escaped", async () => {
    const picture = Buffer.from([0xff, 0xff, 0xff, 0xfb, 0xff, 0xff]).toString("base64")
    expect(picture).toContain("/")
    const answer = `{"data":[{"b64_json":"${picture.replaceAll("/", "\\/")}"}]}`
    expect((await told(answer)).data[0].b64_json).toBe(picture)
  })

  it("is the supplier's picture, byte for byte, in whatever pieces it came", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 3_000 }),
        fc.integer({ min: 1, max: 500 }),
        async (bytes, pieceBytes) => {
          const b64_json = Buffer.from(bytes).toString("base64")
          const made = await reply(JSON.stringify({ created: 1, data: [{ b64_json }], size: "auto" }), pieceBytes)
          if (made._tag !== "Pictured") throw new Error(made._tag)
          expect(JSON.parse(made.picture.toString())).toEqual({ ...bare, data: [{ b64_json }], size: "auto" })
        }
      )
    )
  })
})

describe("an answer that is none", () => {
  it.each([
    ["is HTML", "<html>oops</html>"],
    ["is cut in its picture", `{"data":[{"b64_json":"${PICTURE}`],
    ["is cut after its picture", `{"data":[{"b64_json":"${PICTURE}"}`],
    ["is an array", `[{"b64_json":"${PICTURE}"}]`],
    ["is not only JSON", `{"data":[{"b64_json":"${PICTURE}"}]} and more`],
    [
      "says more than a mebibyte around its picture",
      `{"x":"${"x".repeat(1024 * 1024)}","data":[{"b64_json":"${PICTURE}"}]}`
    ]
  ])("%s", async (_, answer) => {
    expect((await reply(answer))._tag).toBe("NoJson")
  })

  it.each([
    ["has no pictures", { data: [] }],
    ["has no data", { picture: { b64_json: PICTURE } }],
    ["has two pictures", { data: [{ b64_json: PICTURE }, { b64_json: PICTURE }] }],
    ["has an address instead", { data: [{ url: "https://supplier.example/a.png" }] }],
    ["has an address beside nothing", { data: [{ url: "https://supplier.example/a.png", b64_json: null }] }],
    ["has its picture elsewhere", { b64_json: PICTURE, data: [{}] }],
    ["has an empty picture", { data: [{ b64_json: "" }] }],
    ["has a picture that is no base64", { data: [{ b64_json: "AAA?AAAA" }] }],
    ["has a picture of half a group", { data: [{ b64_json: "AAAAA" }] }],
    ["has a picture padded inside", { data: [{ b64_json: "AA==AAAA" }] }],
    ["has a picture padded too much", { data: [{ b64_json: "A===" }] }],
    ["has a picture with a break in it", { data: [{ b64_json: "AAAA\nAAA" }] }],
    ["has a picture with a quote in it", { data: [{ b64_json: 'AAAA"AAA' }] }],
    ["has a mark of ours for a picture", { data: [{ b64_json: "\u0000picture" }] }]
  ])("%s", async (_, answer) => {
    expect((await reply(JSON.stringify(answer)))._tag).toMatch(/UpstreamFailed|NoJson/)
  })
})

describe("a picture", () => {
  const sized = async (bytes: number) => {
    const picture = Buffer.alloc(Math.ceil(bytes / 3) * 4, "A")
    if (bytes % 3 !== 0) picture.fill("=", picture.length - (3 - (bytes % 3)))
    return (await reply(Buffer.concat([Buffer.from('{"data":[{"b64_json":"'), picture, Buffer.from('"}]}')])))._tag
  }

  it("may be 20 MiB decoded, and not a byte more", async () => {
    expect(await sized(PICTURE_BYTES)).toBe("Pictured")
    expect(await sized(PICTURE_BYTES + 1)).toBe("TooLarge")
  })
})

describe("the usage that is billed", () => {
  const details = { cached_tokens: 10 }
  it("is what was reported: a zero is one, and what is absent is not", async () => {
    expect(await usageOf({ input_tokens: 0, output_tokens: 0, total_tokens: 0 })).toEqual({
      prompt: { input: 0n, cacheRead: 0n, cacheWrite: 0n },
      output: 0n
    })
    expect(await usageOf({ output_tokens: 5 })).toEqual({ prompt: undefined, output: 5n })
    expect(await usageOf({ input_tokens: 50, input_tokens_details: details, output_tokens: 5 })).toEqual({
      prompt: { input: 40n, cacheRead: 10n, cacheWrite: 0n },
      output: 5n
    })
    for (const usage of [undefined, null, {}, "5", { total_tokens: 7 }]) {
      expect(await usageOf(usage)).toEqual(ReportedUsage.unreported)
    }
  })
})

describe("the memory of an answer", () => {
  it("holds 29 MiB, whatever pieces they come in, and no more", () => {
    const memory = new AnswerMemory()
    const mebibyte = Buffer.alloc(1024 * 1024)
    for (let i = 0; i < ANSWER_BYTES / mebibyte.length; i++) expect(memory.take(mebibyte.fill(i))).toBe(true)
    expect(memory.take(Buffer.alloc(1))).toBe(false)
    const { memory: held, start, end } = memory.gathered
    expect(end - start).toBe(ANSWER_BYTES)
    for (let i = 0; start + i * mebibyte.length < end; i++) expect(held[start + i * mebibyte.length]).toBe(i)
  })
})
