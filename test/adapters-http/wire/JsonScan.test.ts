import { scanner, slicedScanner } from "@tollgate/adapters-http/wire/JsonScan"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const media = { members: ["url", "data"], types: ["image_url", "file"], unsizedTypes: ["file"] }
const anything = scanner({ members: {}, media })
const plan = {
  members: {
    model: {},
    options: { inside: { flag: {} } },
    items: { each: "role" },
    tools: { nameOfType: (type: string) => (type.startsWith("secret_") ? type : undefined) },
    prompt: {}
  },
  media,
  maxValues: 50_000
}
const scan = scanner(plan)
const inSlices = slicedScanner(plan)
const scanned = (text: string) => scan(Buffer.from(text))
const refusal = (body: string | Buffer) =>
  Either.match(scan(Buffer.from(body)), {
    onLeft: ({ message, param }) => ({ message, param }),
    onRight: () => undefined
  })

/** Returns the object that JSON.parse returns; undefined for invalid UTF-8, invalid JSON and other values. */
const reference = (bytes: Buffer): Record<string, unknown> | undefined => {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
const agrees = (bytes: Buffer): boolean => Either.isRight(anything(bytes)) === (reference(bytes) !== undefined)

const value = FastCheck.jsonValue({ maxDepth: 4 })
const object = FastCheck.dictionary(FastCheck.fullUnicodeString(), value, { maxKeys: 6 })
const indent = FastCheck.constantFrom(undefined, 1, "\t", "\r\n ")
const document = FastCheck.tuple(object, indent).map(([it, space]) =>
  JSON.stringify(it, null, space)?.replaceAll("\r\n ", "\r\n")
)

describe("a scan of a body", () => {
  property("accepts random JSON objects that JSON.parse accepts", [document.map((it) => Buffer.from(it))], agrees)

  const splinter = FastCheck.constantFrom(
    ...'{}[]:,"\\ \n\t\r0-1.+eEutfn/',
    ...[
      "true",
      "fals",
      "null",
      "\\u00e9",
      "\\ud800",
      "\\x",
      '"',
      '":',
      "\u0000",
      "\u001f",
      "\u007f",
      "\ufeff",
      "é",
      "1e",
      "0.",
      "00",
      "-"
    ]
  )
  property(
    "agrees with JSON.parse about documents with a random change",
    [document, FastCheck.nat(), FastCheck.nat(3), splinter],
    (text, at, removed, inserted) => {
      const start = at % (text.length + 1)
      return agrees(Buffer.from(text.slice(0, start) + inserted + text.slice(start + removed)))
    },
    4_000
  )

  const token = FastCheck.constantFrom(
    ..."{}[]:,".repeat(3),
    ...[
      '"a"',
      '"b":',
      '{"c":',
      "1",
      "-0",
      "1.5",
      "1e5",
      "-1.0E+2",
      "01",
      "1.",
      ".5",
      "+1",
      "- 1",
      "1e",
      "true",
      "false",
      "null",
      "nul",
      "NaN",
      " ",
      "\n",
      '"\\n"',
      '"\\u12G4"',
      '"\\'
    ]
  )
  property(
    "agrees with JSON.parse about random tokens",
    [FastCheck.array(token, { maxLength: 10 })],
    (tokens) => agrees(Buffer.from(`{"k":${tokens.join("")}`)) && agrees(Buffer.from(`{"k":${tokens.join("")}}`)),
    4_000
  )

  property(
    "agrees with a strict UTF-8 decoder about random bytes",
    [document, FastCheck.nat(), FastCheck.uint8Array({ minLength: 1, maxLength: 3 })],
    (text, at, noise) => {
      const bytes = Buffer.from(text)
      const start = at % (bytes.length + 1)
      return agrees(Buffer.concat([bytes.subarray(0, start), noise, bytes.subarray(start)]))
    }
  )

  property(
    "finds members with the values that JSON.parse returns",
    [object, object, value, value, indent],
    (before, after, model, flag, space) => {
      const body = { ...before, model, ...after, options: { ...before, flag } }
      const text = JSON.stringify(body, null, space)
      const bytes = Buffer.from(text)
      const found = Either.getOrThrow(scan(bytes))
      const at = (span: { start: number; end: number } | undefined) => bytes.toString("utf8", span?.start, span?.end)
      const same = (a: string, b: unknown) => JSON.stringify(JSON.parse(a)) === JSON.stringify(b)
      const kind = model === null ? "null" : Array.isArray(model) ? "array" : typeof model
      return (
        same(at(found.model), model) &&
        same(at(found.options?.inside.flag), flag) &&
        found.model?.type === kind &&
        found.options?.type === "object" &&
        found.prompt === undefined
      )
    }
  )

  property(
    "has the same result in slices of 1 to 9 bytes",
    [document, FastCheck.nat(), FastCheck.nat(3), splinter, FastCheck.integer({ min: 1, max: 9 })],
    (text, at, removed, inserted, sliceBytes) => {
      const start = at % (text.length + 1)
      const changed = text.slice(0, start) + inserted + text.slice(start + removed)
      const nested = `{"items":[{"role":"a","x":${changed}}],"prompt":${changed},"options":{"flag":${changed}}}`
      for (const body of [Buffer.from(changed), Buffer.from(nested)]) {
        expect(runSlices(inSlices(body, sliceBytes))).toEqual(scan(body))
      }
      return true
    },
    1_000
  )

  it("yields repeatedly in a body above 64 KiB", () => {
    const slicesOf = (body: string) => [...inSlices(Buffer.from(body))].length
    expect(slicesOf(`{"prompt":"${"x".repeat(60_000)}"}`)).toBe(0)
    const text = `{"prompt":"${"\\u0061".repeat(50_000)}"}`
    const items = `{"items":[${Array(8_000).fill('{"role":"a","x":[[]]}').join()}]}`
    const members = `{${Array(30_000).fill('"":1').join()}}`
    for (const body of [text, items, members]) {
      expect(slicesOf(body)).toBeGreaterThan((body.length - 64 * 1024) / (17 * 1024))
    }
  })

  it.each([
    ["values", `{"x":[${Array(60_000).fill("{}").join()}]}`],
    ["members", `{${Array(60_000).fill('"":1').join()}}`],
    ["elements", `{"items":[${Array(60_000).fill('{"role":"a"}').join()}]}`]
  ])("refuses a body with too many %s", (_, body) => {
    expect(refusal(body)?.message).toContain("at most 50000 JSON values")
  })

  it.each([
    ["a member name", `{"${"a".repeat(1024 * 1024)}":1}`],
    ["a number", `{"a":${"9".repeat(1024 * 1024 + 1)}}`]
  ])("refuses %s of more than 1 MiB", (_, body) => {
    expect(refusal(body)?.message).toContain("unexpected character")
  })

  it("accepts very long white space", () => {
    const space = " \n".repeat(1024 * 1024)
    expect(refusal(`${space}{${space}"a"${space}:${space}1${space}}${space}`)).toBeUndefined()
  })

  it.each([
    ['[{"type":"a"},{"type":"secret_1"},{"type":"secret_2"},{"type":"secret_1"}]', ["secret_1", "secret_2"]],
    ['[1,{"type":"\\u0073ecret_1"}]', ["secret_1"]],
    ['[{"type":"a"},{"Type":"secret_1"},{"x":{"type":"secret_2"}},"secret_3"]', ["secret_1"]],
    ['{"type":"secret_1"}', []],
    ["[]", []]
  ])("collects from %s these names: %j", (tools, names) => {
    expect(Either.getOrThrow(scanned(`{"tools":${tools}}`)).tools?.typeNames).toEqual(names)
  })

  it("finds a member with escapes in its name", () => {
    const bytes = Buffer.from('{"\\u006d\\u006Fdel":7}')
    expect(Either.getOrThrow(scan(bytes)).model).toMatchObject({ type: "number", start: 19, end: 20 })
  })

  it("recognises empty objects and arrays", () => {
    const found = Either.getOrThrow(scanned('{"options":{ },"items":[],"prompt":[0]}'))
    expect([found.options?.empty, found.items?.empty, found.prompt?.empty]).toEqual([true, true, false])
  })

  it("ignores a nested member and a member name inside a string", () => {
    expect(Either.getOrThrow(scanned('{"a":{"model":1},"b":"\\"model\\":2","c":[{"model":3}]}')).model).toBeUndefined()
  })

  it.each([
    ['{"model":1,"model":1}', "model"],
    ['{"model":1,"mod\\u0065l":1}', "model"],
    ['{"model":1,"MODEL":1}', "model"],
    ['{"Model":1}', "model"],
    ['{"\\u004dodel":1}', "model"],
    ['{"option\\u017f":1}', "options"],
    ['{"optionſ":1}', "options"],
    ['{"options":{"flag":1,"flag":2}}', "options.flag"],
    ['{"options":{"fLag":1}}', "options.flag"],
    ['{"options":{},"options":null}', "options"],
    ['{"items":[{"role":"a"},{"x":1}]}', "items[1].role"],
    ['{"items":[{"role":"a"},{"role":1}]}', "items[1].role"],
    ['{"items":[[]]}', "items[0]"]
  ])("refuses %s and names %s", (text, param) => {
    expect(refusal(text)?.param).toBe(param)
  })

  it("accepts repeated members that it does not return", () => {
    expect(refusal('{"x":1,"x":2,"items":[{"Role":1,"r\\u006fle":"a","role":"b"}]}')).toBeUndefined()
  })

  it("accepts names that resemble the names of returned members", () => {
    expect(refusal('{"models":1,"mode":1,"model ":1,"_model":1}')).toBeUndefined()
  })

  const deep = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
  it.each<[string, string | Buffer, string]>([
    ["an empty body", "", "must be a JSON object"],
    ["a body of white space", " \n", "must be a JSON object"],
    ["a body that is not an object", '["model"]', "must be a JSON object"],
    ["a byte order mark", '\ufeff{"model":1}', "is not valid JSON: it begins with a byte order mark"],
    ["a truncated body", '{"model":', "it ends before the object is complete"],
    ["an unfinished string", '{"model":"m', "it ends before the object is complete"],
    ["characters after the end of the object", '{"model":"m"}}', "unexpected character at byte 13"],
    ["a control character", '{"model":"a\nb"}', "unexpected character at byte 11"],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), "not UTF-8"],
    ["513 levels of nesting", deep(513), "more than 512 levels"],
    ["a million nested arrays", "[".repeat(1_000_000).replace("[", '{"a":['), "more than 512 levels"],
    ["a million nested objects", '{"a":'.repeat(1_000_000), "more than 512 levels"]
  ])("refuses %s and states the reason", (_, body, message) => {
    expect(refusal(body)?.message).toContain(message)
  })

  it.each(["a", "options", "items"])("counts the nesting levels in the value of '%s'", (name) => {
    const within = (levels: number) => {
      const value = "[".repeat(levels) + "]".repeat(levels)
      if (name === "items") return `{"items":[{"role":"a","x":${value}}]}`
      return name === "options" ? `{"options":{"x":${value}}}` : `{"a":[${value}]}`
    }
    const above = name === "items" ? 3 : 2
    expect(refusal(within(512 - above))).toBeUndefined()
    expect(refusal(within(513 - above))?.message).toContain("more than 512 levels")
  })

  it("accepts unusual but well-formed JSON", () => {
    const body = `{"model":-0.0e-999,"a":1e999,"b":"\\ud800","":{"":[]},"c":${"9".repeat(10_000)}}`
    expect(refusal(body)).toBeUndefined()
    expect(refusal(deep(512))).toBeUndefined()
  })
})

describe("the size of a body", () => {
  const sizeOf = (prompt: unknown) => {
    const { textBytes, attachments } =
      Either.getOrThrow(scanned(JSON.stringify({ x: "not in it", prompt }))).prompt ?? {}
    return { textBytes, attachments }
  }

  const written = (it: unknown, escape: (unit: string) => string): string => {
    if (typeof it === "string") return `"${[...Array(it.length).keys()].map((i) => escape(it.charAt(i))).join("")}"`
    if (Array.isArray(it)) return `[${it.map((item) => written(item, escape)).join()}]`
    if (typeof it !== "object" || it === null) return JSON.stringify(it)
    return `{${Object.entries(it).map(([name, item]) => `${JSON.stringify(name)}:${written(item, escape)}`)}}`
  }
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  const bytesIn = (it: unknown): number =>
    typeof it === "string"
      ? Buffer.byteLength(it)
      : typeof it === "object" && it !== null
        ? Object.values(it).reduce((sum: number, item) => sum + bytesIn(item), 0)
        : 0

  property("is the decoded size of its strings in UTF-8 bytes", [value.filter(isWellFormed)], (prompt) => {
    const size = (text: string) => Either.getOrThrow(scanned(text)).prompt?.textBytes
    return (
      size(`{"prompt":${written(prompt, escaped)}}`) === bytesIn(prompt) &&
      size(JSON.stringify({ prompt })) === bytesIn(prompt)
    )
  })

  const structureIn = (it: unknown): number => {
    if (typeof it === "string") return 3
    if (typeof it !== "object" || it === null) return JSON.stringify(it).length + 3
    const names = Array.isArray(it) ? [] : Object.keys(it)
    const inNames = names.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(name)) + 1, 0)
    return Object.values(it).reduce((sum: number, item) => sum + structureIn(item), inNames + 3)
  }

  property("has the bytes of its names, numbers and punctuation, without white space", [value], (prompt) => {
    const sizes = [undefined, 4].map((indent) => {
      const body = JSON.stringify({ x: "not in it", prompt }, undefined, indent)
      return Either.getOrThrow(scanned(body)).prompt?.structureBytes
    })
    return sizes.every((size) => size === structureIn(prompt))
  })

  it("counts an escape as the bytes that it encodes", () => {
    for (const character of ["\u0000", "\u007f", "\u0080", "\u07ff", "\u0800", "\uffff", "\ud83d\ude00"]) {
      const size = Either.getOrThrow(scanned(`{"prompt":${written(character, escaped)}}`)).prompt?.textBytes
      expect(size).toBe(Buffer.byteLength(character))
    }
  })

  const base64 = "QUJD".repeat(500)
  it.each([
    ["an embedded image", { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } }, "image_url", 1],
    ["bare base64", { data: base64 }, "", 0],
    ["base64 that is too short to count as media", { data: "QUJD" }, "QUJD", 0],
    [
      "an image URL",
      { type: "image_url", image_url: { url: "https://a.example/b" } },
      "image_urlhttps://a.example/b",
      1
    ]
  ])("contains only the text of %s", (_, part, text, attachments) => {
    expect(sizeOf([part])).toEqual({ textBytes: text.length, attachments })
  })

  const prose = "data:image/png;base64, ".padEnd(5_000, "write me a long story ")
  it.each([
    ["in a text member", { text: `data:image/png;base64,${base64}` }],
    ["that continues as text", { url: `data:image/png;base64,${base64} and now for something` }],
    ["that is not base64", { url: prose }],
    ["that is a data URL of text", { url: `data:text/plain,${base64}` }],
    ["in an array", [`data:image/png;base64,${base64}`]]
  ])("counts text disguised as an image %s", (_, part) => {
    expect(sizeOf(part).textBytes).toBe(bytesIn(part))
  })

  it("counts attachments whose type has escapes", () => {
    const { attachments, unsized } =
      Either.getOrThrow(
        scanned(
          `{"prompt":[{"t\\u0079pe":"file"},{"type":"\\u0066ile"},{"\\u0074\\u0079\\u0070\\u0065":"f\\u0069le"},{"ty\\u0070":"file"}]}`
        )
      ).prompt ?? {}
    expect([attachments, unsized]).toEqual([3, 3])
  })

  it("does not count base64 with escaped slashes as text", () => {
    const body = `{"prompt":{"url":"data:image\\/png;base64,${"\\/9j\\/".repeat(400)}"}}`
    expect(Either.getOrThrow(scanned(body)).prompt?.textBytes).toBe(0)
  })
})

function isWellFormed(it: unknown): boolean {
  return !/\\ud[89a-f]/.test(JSON.stringify(it))
}
