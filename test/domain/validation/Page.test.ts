import { readTopUpPage } from "@tollgate/domain/validation/Page"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const pathsOf = (query: { limit?: string; offset?: string }) =>
  Either.match(readTopUpPage(query), { onLeft: ({ details }) => details.map(({ path }) => path), onRight: () => [] })

describe("a page of top-ups", () => {
  it("contains the first 20 orders by default", () => {
    expect(readTopUpPage({})).toEqual(Either.right({ limit: 20, offset: 0 }))
  })

  property(
    "accepts limits from 1 to 100 and offsets from 0 to 2^31 - 1",
    [
      FastCheck.oneof(FastCheck.constantFrom(0, 1, 100, 101), FastCheck.integer()),
      FastCheck.oneof(FastCheck.integer(), FastCheck.constantFrom(0, 2 ** 31 - 1, 2 ** 31))
    ],
    (limit, offset) => {
      const page = readTopUpPage({ limit: `${limit}`, offset: `${offset}` })
      const good = limit >= 1 && limit <= 100 && offset >= 0 && offset < 2 ** 31
      return Either.isRight(page) ? good && page.right.limit === limit && page.right.offset === offset : !good
    }
  )

  it.each(["0", "101", "-1", "1.5", "ten", "", " 7", "+7", "0x10", "1e1", "NaN", "9".repeat(400)])(
    "is refused for the limit %j",
    (limit) => {
      expect(pathsOf({ limit })).toEqual(["limit"])
    }
  )

  it.each(["-1", "0.5", "", "2147483648", "x"])("is refused for the offset %j", (offset) => {
    expect(pathsOf({ offset })).toEqual(["offset"])
  })

  it("is refused with two issues if both parameters are wrong", () => {
    expect(pathsOf({ limit: "x", offset: "y" })).toEqual(["limit", "offset"])
  })
})
