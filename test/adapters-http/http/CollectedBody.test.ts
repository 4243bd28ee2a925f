import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { CollectedBody } from "@tollgate/adapters-http/http/CollectedBody"
import { couldExceedValues, parseResponse } from "@tollgate/adapters-http/wire/ParseResponse"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Returns the bytes in use on the JavaScript heap and outside it. */
const memoryInUse = (): number => {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

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

  it("can have as many values as commas and opening brackets", () => {
    expect(couldExceedValues(Buffer.from("[1,2,3]    "), 3)).toBe(false)
    expect(couldExceedValues(Buffer.from("[1,2,3,4]  "), 3)).toBe(true)
  })
})
