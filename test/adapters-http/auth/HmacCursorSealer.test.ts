import * as HmacCursorSealer from "@tollgate/adapters-http/auth/HmacCursorSealer"
import { onlySecret, sealsFor } from "@tollgate/adapters-http/auth/SigningSecrets"
import { FastCheck, Option, Redacted } from "effect"
import { describe, expect, it } from "vitest"

const SECRET = Redacted.make("a secret of the tests, long enough to sign with")
const OTHER = Redacted.make("another secret of the tests, as long as the first")
const { seal, open } = HmacCursorSealer.make(onlySecret(SECRET))

describe("a cursor", () => {
  it("with any text needs no escaping in a URL", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ maxLength: 100, unit: "binary" }), (text) => {
        const cursor = seal(text)
        expect(encodeURIComponent(cursor)).toBe(cursor)
        expect(open(cursor)).toEqual(Option.some(text))
      })
    )
  })

  it("with the longest pattern of the blacklist is valid", () => {
    const text = `b1 ${"好".repeat(244)}@好.example`
    expect(open(seal(text))).toEqual(Option.some(text))
  })

  it("is invalid if one character is changed", () => {
    const cursor = seal("u1 1763631000000000 019a9f0e")
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
    const altered = [...cursor].flatMap((_, i) =>
      [...letters].map((letter) => cursor.slice(0, i) + letter + cursor.slice(i + 1))
    )
    expect(altered.filter((other) => other !== cursor && Option.isSome(open(other)))).toEqual([])
  })

  it.each([
    ["an empty text", ""],
    ["a single dot", "."],
    ["a text without a dot", "abc"],
    ["a text with an HMAC that is too short", "a.b"],
    ["a text with two dots", "a.b.c"],
    ["a text with percent signs", "%00.%00"],
    ["a text with letters outside base64url", "é.é"],
    ["longer than 1064 characters", seal("x".repeat(766))]
  ])("is refused if it is %s", (_, text) => {
    expect(open(text)).toEqual(Option.none())
  })

  it("is refused if it is sealed with another secret", () => {
    expect(open(HmacCursorSealer.make(onlySecret(OTHER)).seal("text"))).toEqual(Option.none())
  })

  it("is refused if it is sealed for another purpose", () => {
    const otherPurpose = sealsFor("qr pictures", onlySecret(SECRET)).seal("text")
    const [body] = seal("text").split(".")
    expect(open(`${body}.${Buffer.from(otherPurpose).toString("base64url")}`)).toEqual(Option.none())
  })

  it("remains valid when new cursors are sealed with another secret", () => {
    const secrets = new Map([
      ["1", SECRET],
      ["2", OTHER]
    ])
    const rotated = HmacCursorSealer.make({ secrets, current: "2" })
    expect(rotated.open(seal("text"))).toEqual(Option.some("text"))
    expect(rotated.seal("text")).toBe(
      HmacCursorSealer.make({ secrets: new Map([["2", OTHER]]), current: "2" }).seal("text")
    )
  })
})
