import { fieldNames, isWithinLimits } from "@tollgate/domain/images/ImageFields"
import type { ImageOperation, SourceImage } from "@tollgate/domain/images/ImageRequest"
import { readImageRequest } from "@tollgate/domain/images/ReadImageRequest"
import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"

const source: SourceImage = { format: "png", widthPx: 1, heightPx: 1, bytes: new Uint8Array() }
const base = { model: "m", prompt: "a cat" }
const read = (operation: ImageOperation, members: object) =>
  readImageRequest(operation, new Map(Object.entries(members)), operation === "edit" ? source : undefined)

/** Returns `accepted`, or the error and the invalid member. */
const verdict = (operation: ImageOperation, members: object): string => {
  const result = read(operation, members)
  return Either.isRight(result) ? "accepted" : `${result.left._tag} ${result.left.param}`
}
const generating = (members: object) => verdict("generate", { ...base, ...members })
const editing = (members: object) => verdict("edit", { ...base, ...members })

const verdicts = (judge: (members: object) => string, name: string, values: ReadonlyArray<unknown>) =>
  new Set(values.map((value) => judge({ [name]: value })))

const accepted = new Set(["accepted"])
const invalid = (param: string) => new Set([`InvalidRequest ${param}`])
const unsupported = (param: string) => new Set([`UnsupportedParameter ${param}`])

describe("the field", () => {
  it("model is required and must not be empty", () => {
    expect(verdict("generate", { prompt: "p" })).toBe("InvalidRequest model")
    expect(verdicts(generating, "model", ["", 5, [], {}, true, null])).toEqual(invalid("model"))
  })

  it("prompt is required and has 1 to 32,000 characters", () => {
    expect(verdict("generate", { model: "m" })).toBe("InvalidRequest prompt")
    expect(verdicts(generating, "prompt", ["", 5, ["a"], "x".repeat(32_001), "🦊".repeat(32_001), null])).toEqual(
      invalid("prompt")
    )
    expect(verdicts(generating, "prompt", ["x", "x".repeat(32_000), "🦊".repeat(32_000)])).toEqual(accepted)
  })

  it("n is 1", () => {
    expect(verdicts(generating, "n", [1, null])).toEqual(accepted)
    expect(verdicts(generating, "n", [0, 2, 1.5, "1", true, []])).toEqual(invalid("n"))
    expect(verdicts(editing, "n", ["1"])).toEqual(accepted)
    expect(verdicts(editing, "n", ["2", "01", "", "1.0", " 1"])).toEqual(invalid("n"))
  })

  it("size is auto or <width>x<height> with edges of 1 to 4096", () => {
    expect(verdicts(generating, "size", ["auto", "1x1", "1024x1536", "4096x4096", null])).toEqual(accepted)
    const wrong = [
      "",
      "0x1",
      "1x0",
      "4097x1",
      "1x4097",
      "01x1",
      "1X1",
      "1x1 ",
      "1x1x1",
      "+1x1",
      "1e3x1",
      "x",
      1024,
      "AUTO"
    ]
    expect(verdicts(generating, "size", wrong)).toEqual(invalid("size"))
    expect(read("generate", { ...base, size: "1024x1536" })).toMatchObject({
      right: { size: { widthPx: 1024, heightPx: 1536 } }
    })
    expect(read("generate", base)).toMatchObject({ right: { size: "auto", quality: "auto" } })
  })

  it("quality is auto, low, medium or high", () => {
    expect(verdicts(generating, "quality", ["auto", "low", "medium", "high", null])).toEqual(accepted)
    expect(verdicts(generating, "quality", ["hd", "standard", "", "High", 1])).toEqual(invalid("quality"))
  })

  it("output_format is png, jpeg or webp", () => {
    expect(verdicts(generating, "output_format", ["png", "jpeg", "webp", null])).toEqual(accepted)
    expect(verdicts(generating, "output_format", ["jpg", "gif", "", 1])).toEqual(invalid("output_format"))
  })

  it("output_compression is an integer from 0 to 100 for jpeg and webp", () => {
    for (const output_format of ["jpeg", "webp"]) {
      const compressed = (members: object) => generating({ ...members, output_format })
      const inForm = (members: object) => editing({ ...members, output_format })
      expect(verdicts(compressed, "output_compression", [0, 1, 99, 100, null])).toEqual(accepted)
      expect(verdicts(compressed, "output_compression", [-1, 101, 1.5, "50", Number.NaN, true])).toEqual(
        invalid("output_compression")
      )
      expect(verdicts(inForm, "output_compression", ["0", "100"])).toEqual(accepted)
      expect(verdicts(inForm, "output_compression", ["050", "101", "", "5e1", "-0"])).toEqual(
        invalid("output_compression")
      )
    }
    expect(generating({ output_compression: 50 })).toBe("InvalidRequest output_compression")
    expect(generating({ output_compression: 50, output_format: "png" })).toBe("InvalidRequest output_compression")
  })

  it("background is auto, opaque or transparent", () => {
    expect(verdicts(generating, "background", ["auto", "opaque", "transparent", null])).toEqual(accepted)
    expect(verdicts(generating, "background", ["white", "", 0])).toEqual(invalid("background"))
    expect(generating({ background: "transparent", output_format: "jpeg" })).toBe("InvalidRequest background")
    expect(generating({ background: "transparent", output_format: "webp" })).toBe("accepted")
  })

  it("image is a required file for an edit", () => {
    expect(editing({})).toBe("accepted")
    const without = readImageRequest("edit", new Map(Object.entries(base)), undefined)
    expect(without).toMatchObject({ left: { _tag: "InvalidRequest", param: "image" } })
    expect(verdicts(editing, "image", ["https://example.com/a.png", "data:image/png;base64,AAAA", ""])).toEqual(
      invalid("image")
    )
    expect(verdicts(generating, "image", ["https://example.com/a.png", 1])).toEqual(unsupported("image"))
  })

  it("response_format must be b64_json", () => {
    expect(verdicts(generating, "response_format", ["b64_json", null])).toEqual(accepted)
    expect(verdicts(editing, "response_format", ["b64_json"])).toEqual(accepted)
    expect(verdicts(generating, "response_format", ["url", "", "B64_JSON", 1])).toEqual(unsupported("response_format"))
  })

  it("stream must be false", () => {
    expect(verdicts(generating, "stream", [false, null])).toEqual(accepted)
    expect(verdicts(editing, "stream", ["false"])).toEqual(accepted)
    expect(verdicts(generating, "stream", [true, "false", 0])).toEqual(unsupported("stream"))
    expect(verdicts(editing, "stream", ["true", "0"])).toEqual(unsupported("stream"))
  })

  it("partial_images is unsupported", () => {
    expect(verdicts(generating, "partial_images", [0, 1, "x"])).toEqual(unsupported("partial_images"))
  })

  it("mask is unsupported", () => {
    expect(verdicts(editing, "mask", ["x", ""])).toEqual(unsupported("mask"))
    expect(generating({ mask: "x" })).toBe("UnsupportedParameter mask")
  })

  it.each(["user", "style", "moderation", "input_fidelity", "Model", "constructor", "toString", "__proto__", ""])(
    "%j is unsupported",
    (name) => {
      const fields = new Map<string, unknown>([...Object.entries(base), [name, "x"]])
      for (const operation of ["generate", "edit"] as const) {
        const result = readImageRequest(operation, fields, source)
        expect(result).toMatchObject({ left: { _tag: "UnsupportedParameter", param: name } })
      }
    }
  )
})

describe("an image request", () => {
  it("has the members that the provider receives", () => {
    const fields = { ...base, n: 1, size: "auto", quality: "low", output_format: "webp", output_compression: 7 }
    const result = read("generate", { ...fields, background: null, response_format: "b64_json", stream: false })
    const { model, ...members } = fields
    expect(result).toMatchObject({ right: { operation: "generate", model, source: undefined } })
    expect(Either.getOrThrow(result).members).toEqual(members)
    expect(Either.getOrThrow(read("edit", { ...base, n: "1" })).members).toEqual({ prompt: "a cat", n: "1" })
  })

  it("is refused if its size exceeds a limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 9_000 }), (width, height) => {
        const isAccepted = generating({ size: `${width}x${height}` }) === "accepted"
        expect(isAccepted).toBe(width <= 4_096 && height <= 4_096 && width * height <= 16_777_216)
        expect(isAccepted).toBe(isWithinLimits(width, height))
      })
    )
  })

  it("is accepted with known members or refused with a member's name", () => {
    const names = fc.oneof(fc.constantFrom(...fieldNames), fc.string())
    const values = fc.oneof(fc.constantFrom<unknown>("auto", "png", "1", 1, false, null), fc.anything())
    fc.assert(
      fc.property(fc.constantFrom("generate", "edit"), fc.array(fc.tuple(names, values)), (operation, entries) => {
        const fields = new Map<string, unknown>([...Object.entries(base), ...entries])
        const result = readImageRequest(operation as ImageOperation, fields, source)
        if (Either.isLeft(result))
          expect([...fields.keys(), "image"].join()).toContain(result.left.param?.slice(0, 100))
        else for (const name of Object.keys(result.right.members)) expect(fieldNames).toContain(name)
      })
    )
  })
})
