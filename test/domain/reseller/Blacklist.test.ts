import { BlacklistPattern, patternsAgainst } from "@tollgate/domain/reseller/Blacklist"
import type { Email } from "@tollgate/domain/validation/Email"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const patterns = Schema.decodeUnknownEither(BlacklistPattern)

describe("the patterns that block an address", () => {
  it("are the address and its domain", () => {
    expect(patternsAgainst("bad@example.com" as Email)).toEqual(["bad@example.com", "@example.com"])
  })

  it("do not contain a parent of the address's domain", () => {
    expect(patternsAgainst("bad@sub.example.com" as Email)).not.toContain("@example.com")
  })

  it("do not contain a domain with the same last letters", () => {
    expect(patternsAgainst("bad@myexample.com" as Email)).not.toContain("@example.com")
  })

  it("contain the domain of an address of the maximum length", () => {
    const domain = `${"d".repeat(248)}.com`
    expect(patternsAgainst(`a@${domain}` as Email)).toContain(`@${domain}`)
  })
})

describe("a pattern of the blacklist", () => {
  it.each([
    [" Bad@Example.com ", "bad@example.com"],
    ["@EXAMPLE.com", "@example.com"]
  ])("is read in lower case without surrounding spaces: %j as %s", (text, pattern) => {
    expect(Either.getOrThrow(patterns(text))).toBe(pattern)
  })

  it.each(["", "@", "example.com", "@example", "*@example.com@", "a b@example.com", 7])("cannot be %j", (text) => {
    expect(Either.isLeft(patterns(text))).toBe(true)
  })
})
