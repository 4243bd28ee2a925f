import { dayOf, readDayRange, readTimeRange } from "@tollgate/domain/validation/Days"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const DAY_MILLIS = 86_400_000
const instant = FastCheck.date({
  min: new Date("2000-01-02T00:00:00Z"),
  max: new Date("2999-01-01T00:00:00Z"),
  noInvalidDate: true
})

describe("a range of days in Jakarta", () => {
  property("contains exactly the instants of its days", [instant, instant, instant], (a, b, at) => {
    const [from = "", to = ""] = [dayOf(a), dayOf(b)].sort()
    const { from: start, before } = Either.getOrThrow(readTimeRange({ from, to }))
    if (start === undefined || before === undefined) return false
    return (start <= at && at < before) === (from <= dayOf(at) && dayOf(at) <= to)
  })

  it("begins at 17:00 UTC of the day before", () => {
    expect(readTimeRange({ from: "2026-11-20", to: "2026-11-20" })).toEqual(
      Either.right({ from: new Date("2026-11-19T17:00:00Z"), before: new Date("2026-11-20T17:00:00Z") })
    )
    expect(readTimeRange({})).toEqual(Either.right({ from: undefined, before: undefined }))
  })

  it.each(["", "today", "2026-2-3", "2026-02-30", "2026-13-01", "1999-12-31", "2026-11-20T00:00:00Z", " 2026-11-20"])(
    "is refused for the date %j",
    (day) => {
      expect(readTimeRange({ from: day, to: day })).toMatchObject({ left: [{ path: "from" }, { path: "to" }] })
    }
  )

  it("is refused if it ends before it begins", () => {
    expect(readTimeRange({ from: "2026-11-21", to: "2026-11-20" })).toMatchObject({ left: [{ path: "to" }] })
  })
})

describe("a range of daily sums", () => {
  const now = new Date("2026-11-20T18:00:00Z")

  it("has 31 days and ends today by default", () => {
    expect(Either.getOrThrow(readDayRange({}, now))).toMatchObject({ firstDay: "2026-10-22", lastDay: "2026-11-21" })
    expect(Either.getOrThrow(readDayRange({ to: "2026-01-31" }, now))).toMatchObject({
      firstDay: "2026-01-01",
      lastDay: "2026-01-31"
    })
    expect(Either.getOrThrow(readDayRange({ from: "2026-11-01" }, now)).lastDay).toBe("2026-11-21")
  })

  property("has at most 92 days", [instant, FastCheck.integer({ min: 0, max: 200 })], (first, days) => {
    const last = new Date(first.getTime() + days * DAY_MILLIS)
    const range = readDayRange({ from: dayOf(first), to: dayOf(last) }, now)
    return Either.isRight(range) === days < 92
  })

  it("is refused if its first day is after today", () => {
    expect(readDayRange({ from: "2026-11-22" }, now)).toMatchObject({ left: [{ path: "from" }] })
  })
})
