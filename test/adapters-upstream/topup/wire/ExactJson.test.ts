import * as ExactJson from "@tollgate/adapters-upstream/topup/wire/ExactJson"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"

const read = (text: string) => Either.getOrThrow(ExactJson.parse(text))

describe("the JSON reader", () => {
  it("keeps every digit of a number", () => {
    expect(read('{"a":9007199254740993,"b":25.000123,"c":-1.5E-7,"d":0.10,"e":[1,{"f":2}]}')).toEqual({
      a: "9007199254740993",
      b: "25.000123",
      c: "-1.5E-7",
      d: "0.10",
      e: ["1", { f: "2" }]
    })
  })

  it("does not change digits in strings or member names", () => {
    expect(read(String.raw`{"12":"34","a\"5":"\\","b\\":6,"c":"7\\\" 8","d":true,"e":null}`)).toEqual({
      "12": "34",
      'a"5': "\\",
      "b\\": "6",
      c: '7\\" 8',
      d: true,
      e: null
    })
  })

  it("refuses text that is not JSON", () => {
    for (const text of ["", "<html>", '{"a":01}', '{"a":1.}', '{"a":+1}', '{"a":1', "{'a':1}"]) {
      expect(ExactJson.parse(text), text).toEqual(Either.left("no JSON"))
    }
  })

  it("changes only numbers", () => {
    const asText = (value: unknown): unknown => {
      if (typeof value === "number") return JSON.stringify(value)
      if (Array.isArray(value)) return value.map(asText)
      if (typeof value !== "object" || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member)]))
    }
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue(), (value) => {
        expect(read(JSON.stringify(value))).toEqual(asText(JSON.parse(JSON.stringify(value))))
      })
    )
  })
})

describe("the JSON writer", () => {
  it("writes amounts as exact numbers", () => {
    const written = ExactJson.write({
      amount: 9_007_199_254_740_993n,
      price: new ExactJson.Digits("25.000123"),
      'na"me': "a\n",
      items: [{ quantity: 1n }, true],
      absent: undefined
    })
    expect(written).toBe('{"amount":9007199254740993,"price":25.000123,"na\\"me":"a\\n","items":[{"quantity":1},true]}')
  })
})
