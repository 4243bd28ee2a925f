import { readUsageDays, readUsagePage, type UsageQuery } from "@tollgate/domain/customer/Usage"
import { positionFromText, positionToText } from "@tollgate/domain/validation/Cursor"
import { Either, FastCheck, Option } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const position = FastCheck.record({
  atMicros: FastCheck.bigInt({ min: 0n, max: 999_999_999_999_999_999n }),
  id: FastCheck.uuid()
})

describe("a usage position", () => {
  property("is unchanged after conversion to text and back", [position], (position) => {
    const read = Option.getOrUndefined(positionFromText("u1", positionToText("u1", position)))
    return read?.atMicros === position.atMicros && read.id === position.id
  })

  property("cannot be read from an arbitrary text", [FastCheck.string()], (text) =>
    Option.isNone(positionFromText("u1", text))
  )

  it.each([
    "u1 1",
    "u1 1 x",
    "u2 1 01930000-0000-7000-8000-0000000000aa",
    "u1 -1 01930000-0000-7000-8000-0000000000aa",
    "u1 1 01930000-0000-7000-8000-0000000000aa more"
  ])("is not read from the text %j", (text) => {
    expect(Option.isNone(positionFromText("u1", text))).toBe(true)
  })
})

describe("a usage page", () => {
  const open = (cursor: string) => (cursor.startsWith("sealed ") ? Option.some(cursor.slice(7)) : Option.none())
  const pathsOf = (query: UsageQuery) =>
    Either.match(readUsagePage(query, open), {
      onLeft: ({ details }) => details.map(({ path }) => path),
      onRight: () => []
    })

  it("is limited to 50 items by default", () => {
    const filter = { from: undefined, before: undefined, model: undefined, userId: undefined }
    expect(readUsagePage({}, open)).toEqual(Either.right({ limit: 50, after: undefined, filter }))
  })

  property("begins after the item that its cursor identifies", [position], (position) => {
    const page = Either.getOrUndefined(readUsagePage({ cursor: `sealed ${positionToText("u1", position)}` }, open))
    return page?.after?.atMicros === position.atMicros && page.after.id === position.id
  })

  it.each(["", "forged", "sealed nonsense"])("is refused for the invalid cursor %j", (cursor) => {
    expect(pathsOf({ cursor })).toEqual(["cursor"])
  })

  it.each(["0", "101", "", "x"])("is refused for the limit %j", (limit) => {
    expect(pathsOf({ limit })).toEqual(["limit"])
    expect(pathsOf({ limit, cursor: "forged" })).toEqual(["limit", "cursor"])
  })

  it("is refused with the name of every invalid parameter", () => {
    expect(pathsOf({ limit: "0", from: "today", to: "2026-02-30", model: "", customer: "x" })).toEqual([
      "limit",
      "from",
      "to",
      "model",
      "customer"
    ])
  })

  it("can be limited to days, a model and a customer", () => {
    const customer = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
    const page = readUsagePage({ from: "2026-11-20", to: "2026-11-21", model: "m", customer }, open)
    expect(Either.getOrThrow(page).filter).toEqual({
      from: new Date("2026-11-19T17:00:00Z"),
      before: new Date("2026-11-21T17:00:00Z"),
      model: "m",
      userId: customer
    })
  })

  it("can be limited to a model whose name has 200 characters of two UTF-16 units each", () => {
    expect(pathsOf({ model: "😀".repeat(200) })).toEqual([])
    expect(pathsOf({ model: "😀".repeat(201) })).toEqual(["model"])
  })

  it.each(["", "a\0b", "x".repeat(201)])("is refused for the model %j", (model) => {
    expect(pathsOf({ model })).toEqual(["model"])
    expect(Either.isLeft(readUsageDays({ model }, new Date(0)))).toBe(true)
  })
})
