import { BlacklistPattern, patternsAgainst } from "@tollgate/domain/reseller/Blacklist"
import { Email } from "@tollgate/domain/validation/Email"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const read = Schema.decodeUnknownEither(Email)
const kept = (text: string) => Either.getOrThrow(read(text))

describe("an email address", () => {
  it.each([
    ["white space around the address", "  name@example.com\t"],
    ["capital letters", "Name@EXAMPLE.com"],
    ["full-width letters", "name@\uff45\uff58\uff41\uff4dple.com"]
  ])("with %s is stored as name@example.com", (_, written) => {
    expect(kept(written)).toBe("name@example.com")
  })

  it("has one stored form for combining and precomposed accents", () => {
    expect(kept("jose\u0301@example.com")).toBe(kept("jos\u00e9@example.com"))
  })

  it.each([
    "",
    "name",
    "@example.com",
    "name@",
    "name@localhost",
    "a b@example.com",
    "name@exam\u00adple.com",
    "name@mail\u3002example.com",
    "name@mail\uff61example.com"
  ])("cannot be %j", (text) => {
    expect(Either.isLeft(read(text))).toBe(true)
  })

  it("matches a blacklist entry in another spelling", () => {
    const pattern = Schema.decodeSync(BlacklistPattern)("@\uff42ad.example")
    expect(patternsAgainst(kept("name@BAD.example"))).toContain(pattern)
  })
})
