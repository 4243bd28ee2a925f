import { BlacklistPattern, patternsAgainst } from "@tollgate/domain/reseller/Blacklist"
import { Email } from "@tollgate/domain/validation/Email"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const read = Schema.decodeUnknownEither(Email)
const kept = (text: string) => Either.getOrThrow(read(text))

describe("an email address", () => {
  it.each([
    ["blanks around it", "  name@example.com\t"],
    ["capitals", "Name@EXAMPLE.com"],
    ["letters of full width", "name@\uff45\uff58\uff41\uff4dple.com"]
  ])("is one, whatever it is written with: %s", (_, written) => {
    expect(kept(written)).toBe("name@example.com")
  })

  it("is one, however its accents are put together", () => {
    expect(kept("jose\u0301@example.com")).toBe(kept("jos\u00e9@example.com"))
  })

  it.each(["", "name", "@example.com", "name@", "name@localhost", "a b@example.com", "name@exam\u00adple.com"])(
    "is not %j",
    (text) => {
      expect(Either.isLeft(read(text))).toBe(true)
    }
  )

  it("is found on a list that was written in another form", () => {
    const pattern = Schema.decodeSync(BlacklistPattern)("@\uff42ad.example")
    expect(patternsAgainst(kept("somebody@BAD.example"))).toContain(pattern)
  })
})
