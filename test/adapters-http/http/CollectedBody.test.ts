import { queryObjects } from "node:v8"
import { CollectedBody } from "@tollgate/adapters-http/http/CollectedBody"
import { couldExceedValues, parseResponse } from "@tollgate/adapters-http/wire/ParseResponse"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
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

  it("keeps fewer than 1,000 buffer objects for 500,000 chunks of one byte", () => {
    const body = new CollectedBody()
    const before = queryObjects(Buffer, { format: "count" })
    for (let i = 0; i < 500_000; i++) body.push(Buffer.from([i % 256]))
    // `queryObjects` counts after a garbage collection. The test runner can create some buffers in the meantime.
    expect(queryObjects(Buffer, { format: "count" }) - before).toBeLessThan(1_000)
    expect(body.whole()).toHaveLength(500_000)
  })
})

describe("a provider's response", () => {
  it("is parsed only if it cannot have too many values", () => {
    expect(parseResponse(Buffer.from('{"a":[1,2]}'))).toEqual({ a: [1, 2] })
    expect(() => parseResponse(Buffer.from(`[${"{},".repeat(3_000_000)}{}]`))).toThrow(RangeError)
    expect(() => parseResponse(Buffer.from("["))).toThrow(SyntaxError)
  })

  it("could exceed a number of values only if it has more commas and opening brackets than this number", () => {
    expect(couldExceedValues(Buffer.from("[1,2,3]    "), 4)).toBe(false)
    expect(couldExceedValues(Buffer.from("[1,2,3,4]  "), 3)).toBe(true)
  })
})
