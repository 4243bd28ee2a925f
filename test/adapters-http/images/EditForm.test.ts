import { MemoryReservation } from "@tollgate/adapters-http/http/MemoryReservation"
import { boundaryOf, EditForm, type ParsedForm } from "@tollgate/adapters-http/images/EditForm"
import { RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import type { ModelCheck } from "@tollgate/application/images/ImageConnection"
import { UnsupportedEndpoint } from "@tollgate/domain/images/ImageErrors"
import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { memoryInUse } from "../../support/MemoryInUse.ts"
import { aForm, aPng, BOUNDARY, image, model, type Part, prompt } from "./Pictures.ts"

const MIB = 1024 * 1024

const anyModel: ModelCheck = () => Either.void

/** Reads a form in chunks of these sizes in bytes. The last size repeats. */
const read = (form: Buffer, sizes: ReadonlyArray<number> = [64 * 1024], checkModel = anyModel, boundary = BOUNDARY) => {
  const reservation = new MemoryReservation(new RelayCounters().imageMemory, 64 * MIB)
  const reader = new EditForm(boundary, reservation, checkModel)
  let at = 0
  for (let i = 0; at < form.length; i++) {
    const size = sizes[Math.min(i, sizes.length - 1)] ?? form.length
    const error = reader.take(form.subarray(at, at + size))
    if (error !== undefined) return { error, bytesRead: at + size }
    at += size
  }
  const end = reader.end()
  return Either.isLeft(end) ? { error: end.left, bytesRead: at } : { read: end.right, bytesRead: at }
}

const resultOf = (...parts: ReadonlyArray<Part>): string => {
  const { error } = read(aForm(...parts))
  if (error === undefined) return "read"
  return `${error._tag} ${"param" in error ? error.param : "-"}`
}

/** File names as users and operating systems choose them. */
const NAMES = [
  "写真.png",
  "фото.png",
  "🙂.png",
  "foto\u20131.png",
  "Screenshot 2026-11-20 at 9.41.00\u202fAM.png",
  '写\\"真; name=\\"prompt.png',
  "café.png",
  ""
]

const boundaryError = (contentType: string | undefined) =>
  Either.match(boundaryOf(contentType), { onLeft: ({ _tag }) => _tag, onRight: () => undefined })

const wellFormed = aForm(model, prompt).toString("latin1")
const FIRST_LINE = `--${BOUNDARY}\r\n`
const MALFORMED: ReadonlyArray<readonly [string, Buffer]> = (
  [
    ["LF alone ends a delimiter", wellFormed.replace(FIRST_LINE, `--${BOUNDARY}\n`)],
    ["CR alone ends a delimiter", wellFormed.replace(FIRST_LINE, `--${BOUNDARY}\r`)],
    ["two other characters end a delimiter", wellFormed.replace(FIRST_LINE, `--${BOUNDARY}xx`)],
    ["one hyphen follows a delimiter", wellFormed.replace(FIRST_LINE, `--${BOUNDARY}-\n`)],
    ["LF alone ends a header", wellFormed.replace("\r\n\r\n", "\nX: y\r\n\r\n")],
    ["a header contains CR", wellFormed.replace("\r\n\r\n", "\r\nX: y\rz\r\n\r\n")],
    ["a delimiter follows headers without an empty line", wellFormed.replace("\r\n\r\npainter", "")],
    ["a delimiter starts at the empty line after the headers", wellFormed.replace("\r\n\r\npainter", "\r\n")]
  ] as const
).map(([name, text]) => [name, Buffer.from(text, "latin1")])

const texts = (form: ParsedForm | undefined) => Object.fromEntries(form?.texts ?? [])

describe("a form", () => {
  it.each(NAMES)("can contain a file with the name %j", (filename) => {
    for (const name of ["image", "image[]"]) {
      const { error, read: whole } = read(aForm(model, { ...image(aPng(), name), filename }, prompt), [7])
      expect(error).toBeUndefined()
      expect(whole?.file?.equals(aPng())).toBe(true)
      expect(texts(whole)).toEqual({ model: model.value, prompt: prompt.value })
    }
    expect(resultOf(model, prompt, { ...image(aPng(), "mask"), filename })).toBe("UnsupportedParameter mask")
  })

  it("ignores a part name inside a file name", () => {
    const filename = '写.png\\"; name=\\"model'
    expect(resultOf(model, prompt, { ...image(), filename })).toBe("read")
    expect(resultOf(model, prompt, { ...image(), filename }, { ...image(), filename })).toBe("InvalidRequest image")
  })

  it("needs less than 10 MB for a file in 500,000 chunks of one byte", () => {
    const reservation = new MemoryReservation(new RelayCounters().imageMemory, 64 * MIB)
    const form = aForm(image(Buffer.alloc(500_000)))
    const reader = new EditForm(BOUNDARY, reservation, anyModel)
    const before = memoryInUse()
    for (let at = 0; at < form.length; at++) reader.take(form.subarray(at, at + 1))
    expect(memoryInUse() - before).toBeLessThan(10_000_000)
    expect(Either.getOrThrow(reader.end()).file).toHaveLength(500_000)
  })

  it("in random chunks is parsed into text fields and one file", () => {
    // The file contains a text that is almost a boundary.
    const file = Buffer.concat([aPng(), Buffer.from(`--\r\n--${BOUNDARY.slice(0, -2)}x--\r\n-----`)])
    const parts = [model, prompt, image(file)]
    fc.assert(
      fc.property(
        fc.shuffledSubarray(parts, { minLength: 3 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 40 }),
        (shuffled, sizes) => {
          const { read: whole } = read(aForm(...shuffled), sizes)
          expect(texts(whole)).toEqual({ model: model.value, prompt: prompt.value })
          expect(whole?.file?.equals(file)).toBe(true)
        }
      ),
      { numRuns: 300 }
    )
  })

  it("is refused if its field `size` is empty", () => {
    expect(resultOf(model, prompt, image(), { name: "size", value: "" })).toBe("InvalidRequest size")
  })

  it("in two chunks, divided at any byte, contains its file", () => {
    const form = aForm(model, prompt, image())
    for (let at = 1; at < form.length; at++) {
      expect(read(form, [at, form.length]).read?.file?.equals(aPng()), `cut at ${at}`).toBe(true)
    }
  })

  it.each(MALFORMED)("in two chunks, divided at any byte, is refused if %s", (_, form) => {
    const error = { _tag: "InvalidRequest", message: "The form is malformed.", param: null }
    expect(read(form, [1]).error).toMatchObject(error)
    for (let at = 1; at < form.length; at++) {
      expect(read(form, [at, form.length]).error, `cut at ${at}`).toMatchObject(error)
    }
  })

  it("can name its file `image` or `image[]`", () => {
    expect(resultOf(model, prompt, image(aPng(), "image"))).toBe("read")
    expect(resultOf(model, prompt, image(aPng(), "image[]"))).toBe("read")
  })

  it("must contain only one file", () => {
    expect(resultOf(model, prompt, image(), image())).toBe("InvalidRequest image")
    expect(resultOf(model, prompt, image(), image(aPng(), "image[]"))).toBe("InvalidRequest image")
  })

  it("must not contain the image as a URL or as text", () => {
    for (const value of ["https://example.com/a.png", "data:image/png;base64,AAAA", "file:///etc/passwd", ""]) {
      expect(resultOf(model, prompt, { name: "image", value })).toBe("InvalidRequest image")
      expect(resultOf(model, prompt, { name: "image[]", value })).toBe("InvalidRequest image")
    }
  })

  it.each<readonly [string, ReadonlyArray<Part>, string]>([
    ["a field twice", [model, model, image()], "model"],
    ["a text field that is sent as a file", [{ ...prompt, filename: "prompt.txt" }], "prompt"],
    ["a text field that is not UTF-8", [{ name: "prompt", value: Buffer.from([0xc3, 0x28]) }], "prompt"],
    ["a text field in base64", [{ ...prompt, headers: ["Content-Transfer-Encoding: base64"] }], "null"]
  ])("must not contain %s", (_, parts, param) => {
    expect(resultOf(...parts)).toBe(`InvalidRequest ${param}`)
  })

  it("can contain a text field with the transfer encoding 8bit", () => {
    expect(resultOf({ ...prompt, headers: ["Content-Transfer-Encoding: 8bit"] })).toBe("read")
  })

  it("must not contain a part that repeats a header", () => {
    const message = "A part of the form repeats a header."
    for (const part of [prompt, image()]) {
      const repeated = { ...part, headers: ['content-disposition: form-data; name="n"'] }
      expect(read(aForm(model, repeated)).error).toMatchObject({ _tag: "InvalidRequest", message })
    }
  })

  it("is refused at its first unsupported part", () => {
    expect(resultOf({ name: "mask", value: aPng(), filename: "mask.png" })).toBe("UnsupportedParameter mask")
    expect(resultOf({ name: "user", value: "x" })).toBe("UnsupportedParameter user")
    expect(resultOf({ name: "Prompt", value: "x" })).toBe("UnsupportedParameter Prompt")
    expect(resultOf({ name: "Image", value: aPng(), filename: "a.png" })).toBe("UnsupportedParameter Image")
    expect(resultOf({ name: "other", value: aPng(), filename: "a.png" })).toBe("UnsupportedParameter other")
    expect(resultOf({ name: "__proto__", value: "x" })).toBe("UnsupportedParameter __proto__")
    const large = aForm({ name: "mask", value: Buffer.alloc(5 * MIB), filename: "mask.png" })
    expect(read(large).bytesRead).toBe(64 * 1024)
  })

  it("is refused because of its model before the file is read", () => {
    const checked: Array<string> = []
    const checkModel: ModelCheck = (name) => {
      checked.push(name)
      return Either.left(new UnsupportedEndpoint({ message: "no" }))
    }
    const { error, bytesRead } = read(aForm(model, prompt, image(Buffer.alloc(5 * MIB))), [512], checkModel)
    expect([checked, error?._tag, bytesRead]).toEqual([["painter"], "UnsupportedEndpoint", 512])
    expect(read(aForm(image(), prompt, model), [512], checkModel).error?._tag).toBe("UnsupportedEndpoint")
  })

  it("is too large with a file above 10 MiB", () => {
    expect(resultOf(model, prompt, image(Buffer.alloc(10 * MIB)))).toBe("read")
    expect(resultOf(model, prompt, image(Buffer.alloc(10 * MIB + 1)))).toBe("ImageTooLarge -")
  })

  it("is too large above 12 MiB in total", () => {
    const preamble = Buffer.concat([Buffer.alloc(12 * MIB, 0x61), Buffer.from("\r\n"), aForm(model)])
    expect(read(preamble).error?._tag).toBe("ImageTooLarge")
  })

  it("can have one part for each of the eleven fields, and no further part", () => {
    const others = {
      n: "1",
      size: "auto",
      quality: "auto",
      output_format: "webp",
      output_compression: "50",
      background: "auto",
      response_format: "b64_json",
      stream: "false"
    }
    const all = [model, prompt, image(), ...Object.entries(others).map(([name, value]): Part => ({ name, value }))]
    expect([all.length, resultOf(...all)]).toEqual([11, "read"])
    for (const name of Object.keys(others)) {
      expect(resultOf(...all, { name, value: others[name as keyof typeof others] })).toBe(`InvalidRequest ${name}`)
    }
    const many = Array.from({ length: 17 }, (_, i): Part => ({ name: i === 0 ? "model" : "n", value: "1" }))
    expect(resultOf(...many)).toBe("InvalidRequest n")
  })

  it("is refused if the headers of a part are too long", () => {
    const head = Array.from({ length: 3 }, (_, i) => `X-${i}: ${"x".repeat(10_000)}`)
    expect(resultOf({ ...prompt, headers: head })).toBe("InvalidRequest null")
  })

  it("is refused if a text field is too long", () => {
    expect(resultOf({ name: "prompt", value: "x".repeat(300 * 1024) })).toBe("InvalidRequest prompt")
  })

  it.each([
    ["an empty form", Buffer.alloc(0)],
    ["a form without a boundary", Buffer.from("model=painter")],
    [
      "a form whose boundary is not the declared boundary",
      Buffer.from(aForm(model).toString("latin1").replaceAll(BOUNDARY, "other"))
    ],
    [
      "a part without a name",
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--`)
    ],
    ["a part without headers", Buffer.from(`--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--`)],
    ["a part that is not form-data", Buffer.from(aForm(model).toString().replace("form-data", "attachment"))],
    [
      "a part whose headers never end",
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="n"\r\n--${BOUNDARY}--`)
    ],
    [
      "a file name with an invalid escape",
      aForm({ ...image(), headers: [] })
        .toString()
        .replace('filename="', "filename*=utf-8''%E0%A4%A; x=\"")
    ]
  ])("is refused if it is malformed: %s", (_, form) => {
    expect(read(Buffer.from(form)).error?._tag).toBe("InvalidRequest")
  })

  it("is refused if it is truncated at any byte", () => {
    const form = aForm(model, prompt, image())
    const closed = form.length - "\r\n".length
    for (let at = 0; at < closed; at++) {
      expect(read(form.subarray(0, at)).error?._tag, `cut at ${at}`).toBe("InvalidRequest")
    }
  })

  it("with randomly changed bytes causes no exception", () => {
    const form = aForm(model, prompt, image())
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(form.length - 1), fc.nat(255)), { maxLength: 12 }), (changes) => {
        const bytes = Buffer.from(form)
        for (const [at, byte] of changes) bytes[at] = byte
        const { error, read: whole } = read(bytes, [97])
        expect(error === undefined).toBe(whole !== undefined)
      }),
      { numRuns: 1_000 }
    )
  })
})

describe("the content type of a form", () => {
  it.each([
    undefined,
    "application/json",
    "multipart/mixed; boundary=x",
    "multipart/form-data",
    "text/multipart/form-data"
  ])("is refused without multipart/form-data and a boundary: %s", (type) => {
    expect(boundaryError(type)).toBe("InvalidRequest")
  })

  it("can declare a boundary of at most 70 characters", () => {
    expect(boundaryOf(`multipart/form-data; boundary=${"x".repeat(70)}`)).toEqual(Either.right("x".repeat(70)))
    expect(boundaryError(`multipart/form-data; boundary="${"x".repeat(71)}"`)).toBe("InvalidRequest")
  })

  it("can declare only a boundary of RFC 2046", () => {
    const declared = (value: string) => boundaryOf(`Multipart/Form-Data; charset=utf-8; boundary=${value}`)
    expect(declared('"a b\'()+_,-./:=?"')).toEqual(Either.right("a b'()+_,-./:=?"))
    expect(boundaryOf('multipart/form-data; a="; boundary=x"; boundary=y')).toEqual(Either.right("y"))
    for (const value of ['""', '"a "', '"a\\"b"', "é", "a@b"]) {
      expect(Either.isLeft(declared(value)), value).toBe(true)
    }
  })
})
