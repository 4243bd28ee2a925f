import { BlacklistPattern, patternsAgainst } from "@tollgate/domain/reseller/Blacklist"
import type { Email } from "@tollgate/domain/validation/Email"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const patterns = Schema.decodeUnknownEither(BlacklistPattern)

describe("the blacklist", () => {
  it("blocks an address with a pattern for this address or for its domain", () => {
    expect(patternsAgainst("bad@example.com" as Email)).toEqual(["bad@example.com", "@example.com"])
  })

  it("blocks neither a subdomain nor another domain with the same ending", () => {
    expect(patternsAgainst("bad@sub.example.com" as Email)).not.toContain("@example.com")
    expect(patternsAgainst("bad@myexample.com" as Email)).not.toContain("@example.com")
  })

  it("has a domain pattern even for an address of the maximum length", () => {
    const domain = `${"d".repeat(248)}.com`
    expect(patternsAgainst(`a@${domain}` as Email)).toContain(`@${domain}`)
  })

  it.each([
    [" Bad@Example.com ", "bad@example.com"],
    ["@EXAMPLE.com", "@example.com"]
  ])("stores the pattern %j as %s", (text, pattern) => {
    expect(Either.getOrThrow(patterns(text))).toBe(pattern)
  })

  it.each(["", "@", "example.com", "@example", "*@example.com@", "a b@example.com", 7])(
    "rejects the pattern %j",
    (text) => {
      expect(Either.isLeft(patterns(text))).toBe(true)
    }
  )
})
