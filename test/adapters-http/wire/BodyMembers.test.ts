import { splice } from "@tollgate/adapters-http/wire/BodyMembers"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

describe("a spliced body", () => {
  it("contains the new text of unsorted splices", () => {
    const body = Buffer.from("0123456789")
    const splices = [
      { start: 8, end: 10, text: "é" },
      { start: 4, end: 4, text: "new" },
      { start: 0, end: 2, text: "" }
    ]
    expect(splice(body, splices).toString()).toBe("23new4567é")
    expect(body.toString()).toBe("0123456789")
  })

  property(
    "keeps every byte outside the replaced ranges",
    [FastCheck.uint8Array(), FastCheck.nat(), FastCheck.nat(), FastCheck.string()],
    (bytes, a, b, text) => {
      const [start = 0, end = 0] = [a % (bytes.length + 1), b % (bytes.length + 1)].sort((x, y) => x - y)
      const spliced = splice(Buffer.from(bytes), [{ start, end, text }])
      const expected = [...bytes.subarray(0, start), ...Buffer.from(text), ...bytes.subarray(end)]
      return spliced.equals(Buffer.from(expected))
    }
  )
})
