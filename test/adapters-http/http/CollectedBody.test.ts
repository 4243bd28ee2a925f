import { CollectedBody } from "@tollgate/adapters-http/http/CollectedBody"
import { couldExceedValues, parseResponse } from "@tollgate/adapters-http/wire/ParseResponse"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { memoryInUse } from "../../support/MemoryInUse.ts"
import { property } from "../../support/property.ts"

describe("a collected body", () => {
  property(
    "is the concatenation of its chunks",
    [FastCheck.array(FastCheck.uint8Array(), { maxLength: 99 })],
    (chunks) => {
      const body = new CollectedBody()
      for (const chunk of chunks) body.push(Buffer.from(chunk))
      const whole = Buffer.concat(chunks)
      return body.bytes === whole.length && body.whole().equals(whole)
    }
  )

  property(
    "is the concatenation of many small and large chunks",
    [FastCheck.array(FastCheck.constantFrom(1, 100, 4_095, 4_096, 20_000), { minLength: 30, maxLength: 99 })],
    (sizes) => {
      const body = new CollectedBody()
      const chunks = sizes.map((size, i) => Buffer.alloc(size, i))
      for (const chunk of [...chunks, ...chunks]) body.push(chunk)
      return body.whole().equals(Buffer.concat([...chunks, ...chunks])) && body.whole().length === body.bytes
    }
  )

  it("needs less than 10 MB for 500,000 chunks of one byte", () => {
    const body = new CollectedBody()
    const before = memoryInUse()
    for (let i = 0; i < 500_000; i++) body.push(Buffer.from([i % 256]))
    // A buffer object for each chunk would need about 50 MB.
    expect(memoryInUse() - before).toBeLessThan(10_000_000)
    expect(body.whole()).toHaveLength(500_000)
  })
})

describe("a provider's response", () => {
  it("is not parsed if it could have too many values", () => {
    expect(parseResponse(Buffer.from('{"a":[1,2]}'))).toEqual({ a: [1, 2] })
    expect(() => parseResponse(Buffer.from(`[${"{},".repeat(3_000_000)}{}]`))).toThrow(RangeError)
    expect(() => parseResponse(Buffer.from("["))).toThrow(SyntaxError)
  })

  it("is counted as one value for each comma, opening bracket and opening brace", () => {
    expect(couldExceedValues(Buffer.from('{"a":{}}'), 1)).toBe(true)
    expect(couldExceedValues(Buffer.from("[1,2,3]    "), 3)).toBe(false)
    expect(couldExceedValues(Buffer.from("[1,2,3,4]  "), 3)).toBe(true)
  })
})
