import { positionFromText, positionToText, readUsagePage } from "@tollgate/domain/customer/Usage"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Either, FastCheck, Option } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const position = FastCheck.record({
  settledAtMicros: FastCheck.bigInt({ min: 0n, max: 999_999_999_999_999_999n }),
  requestId: FastCheck.uuid().map((id) => RequestId(id))
})

describe("a usage position", () => {
  property("has the same microsecond and request id after conversion to text and back", [position], (position) => {
    const read = Option.getOrUndefined(positionFromText(positionToText(position)))
    return read?.settledAtMicros === position.settledAtMicros && read.requestId === position.requestId
  })

  property("cannot be read from an arbitrary text", [FastCheck.string()], (text) =>
    Option.isNone(positionFromText(text))
  )

  it.each([
    "u1 1",
    "u1 1 x",
    "u2 1 01930000-0000-7000-8000-0000000000aa",
    "u1 -1 01930000-0000-7000-8000-0000000000aa",
    "u1 1 01930000-0000-7000-8000-0000000000aa more"
  ])("is not read from the text %j", (text) => {
    expect(Option.isNone(positionFromText(text))).toBe(true)
  })
})

describe("a usage page", () => {
  const open = (cursor: string) => (cursor.startsWith("sealed ") ? Option.some(cursor.slice(7)) : Option.none())
  const pathsOf = (query: { limit?: string; cursor?: string }) =>
    Either.match(readUsagePage(query, open), {
      onLeft: ({ details }) => details.map(({ path }) => path),
      onRight: () => []
    })

  it("contains the newest 50 items by default", () => {
    expect(readUsagePage({}, open)).toEqual(Either.right({ limit: 50, after: undefined }))
  })

  property("begins after the item that its cursor identifies", [position], (position) => {
    const page = Either.getOrUndefined(readUsagePage({ cursor: `sealed ${positionToText(position)}` }, open))
    return page?.after?.settledAtMicros === position.settledAtMicros && page.after.requestId === position.requestId
  })

  it.each(["", "forged", "sealed nonsense"])(
    "is refused for the invalid cursor %j and does not restart from the newest item",
    (cursor) => {
      expect(pathsOf({ cursor })).toEqual(["cursor"])
    }
  )

  it.each(["0", "101", "", "x"])("is refused for the limit %j", (limit) => {
    expect(pathsOf({ limit })).toEqual(["limit"])
    expect(pathsOf({ limit, cursor: "forged" })).toEqual(["limit", "cursor"])
  })
})
