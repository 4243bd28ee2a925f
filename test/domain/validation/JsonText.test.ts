import { readJson } from "@tollgate/domain/validation/JsonText"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"

const mistake = (text: string) =>
  Either.match(readJson(text), {
    onLeft: ({ column, line, problem }) => `${line}:${column}: ${problem}`,
    onRight: (value) => value
  })

describe("readJson", () => {
  it("returns the same value as JSON.parse", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue(), FastCheck.constantFrom(0, 2, "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(Either.getOrThrow(readJson(text))).toEqual(JSON.parse(text))
      })
    )
  })

  it("rejects the damaged texts that JSON.parse rejects", () => {
    const valid = '{"a": [1, -2.5e3, true, null, "x\\n\\u00e9"], "b": {"c": {}}, "d": []}'
    const damaged = FastCheck.tuple(
      FastCheck.nat(valid.length),
      FastCheck.nat(3),
      FastCheck.stringMatching(/^[\][{}:,"a1 .-]{0,2}$/)
    )
    FastCheck.assert(
      FastCheck.property(damaged, ([at, cut, put]) => {
        const text = valid.slice(0, at) + put + valid.slice(at + cut)
        const accepted = Either.isRight(Either.try(() => JSON.parse(text)))
        const read = readJson(text)
        if (Either.isLeft(read) && read.left.problem.includes("occurs twice")) return
        expect(Either.isRight(read)).toBe(accepted)
      }),
      { numRuns: 1_000 }
    )
  })

  it.each([
    ['{\n  "models": [\n    1,\n  ]\n}', "4:3: a value is missing here"],
    ['{"a": 1,}', '1:9: expected a member name in double quotes; JSON allows no comma before "}"'],
    ['{"a": 1 "b": 2}', "1:9: expected a comma or a closing bracket"],
    ['{"a" 1}', "1:6: expected : after the member name"],
    ['{"a": 1]', "1:8: expected a comma or a closing bracket"],
    ["{'a': 1}", "1:2: strings need double quotes"],
    ['{"a": 1} x', "1:10: unexpected text after the end of the document"],
    ['{\n"a": [1, 2', "2:11: the document is incomplete"],
    ["", "1:1: the document is incomplete"],
    ['{"a": "open}', "1:7: this string has no end, or contains a character that must be escaped"],
    ['{\n  // why\n  "a": 1}', "2:3: JSON has no comments"],
    ['{"price": 1, "b": 2, "price": 3}', '1:22: the member "price" occurs twice in this object'],
    ['{"é🜚": x}', "1:8: a value is missing here"]
  ])("reports the mistake in %j as %s", (text, expected) => {
    expect(mistake(text)).toBe(expected)
  })

  it("accepts the same member name in two objects", () => {
    expect(mistake('[{"a": 1}, {"a": {"a": 2}}]')).toEqual([{ a: 1 }, { a: { a: 2 } }])
  })

  it("reads a long list and a long string", () => {
    const many = `[${'{"name": "model", "price": 1},'.repeat(100_000)}0]`
    const long = JSON.stringify("\u0085é\n".repeat(600_000))
    expect(Either.isRight(readJson(many))).toBe(true)
    expect(Either.isRight(readJson(long))).toBe(true)
  })

  it("finds the mistake in a deeply nested text", () => {
    expect(mistake("[".repeat(1_000_000))).toBe("1:1000001: the document is incomplete")
  })
})
