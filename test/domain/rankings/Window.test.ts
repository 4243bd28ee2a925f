import { dateOf, startOf } from "@tollgate/domain/rankings/JakartaCalendar"
import { readWindow } from "@tollgate/domain/rankings/RankingsQuery"
import { bucketsOf, minuteOf, rangeOf, unitOf } from "@tollgate/domain/rankings/Window"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { DAY, now, window } from "../../support/rankings.ts"

const clock = new Intl.DateTimeFormat("en-GB", {
  timeZone: "Asia/Jakarta",
  weekday: "short",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false
})
const inJakarta = (at: Date) => Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]))

const iso = (dates: ReadonlyArray<Date>) => dates.map((date) => date.toISOString())
const anyInstant = FastCheck.date({ min: new Date("1965-01-01"), max: new Date("2100-01-01"), noInvalidDate: true })
const unit = FastCheck.constantFrom("hour" as const, "day" as const, "week" as const)
const firstUse = FastCheck.option(FastCheck.integer({ min: 0, max: 400 * DAY }), { nil: undefined })
const rangeAt = (at: Date, window: Parameters<typeof rangeOf>[0], ago: number | undefined) =>
  rangeOf(window, at, ago === undefined ? undefined : minuteOf(new Date(at.getTime() - ago)))

describe("the Jakarta calendar", () => {
  property("begins days at midnight in Jakarta, and weeks on Monday", [anyInstant, unit], (at, unit) => {
    const start = startOf(unit, at)
    const { hour, minute, second, weekday } = inJakarta(start)
    const lengths = { hour: DAY / 24, day: DAY, week: 7 * DAY }
    return (
      start <= at &&
      at.getTime() - start.getTime() < lengths[unit] &&
      minute === "00" &&
      second === "00" &&
      start.getUTCMilliseconds() === 0 &&
      (unit === "hour" || hour === "00") &&
      (unit !== "week" || weekday === "Mon")
    )
  })

  property("returns the date in Jakarta of an instant", [anyInstant], (at) => {
    const { year, month, day } = inJakarta(at)
    return dateOf(at) === `${year}-${month}-${day}`
  })

  it("begins a new day at 17:00 UTC", () => {
    expect(dateOf(new Date("2026-06-09T16:59:59.999Z"))).toBe("2026-06-09")
    expect(dateOf(new Date("2026-06-09T17:00:00.000Z"))).toBe("2026-06-10")
  })
})

describe("a window", () => {
  property("ends at the start of the current minute", [now, window], (at, window) => {
    const { to } = rangeOf(window, at, undefined)
    const late = at.getTime() - to.getTime()
    return late >= 0 && late < 60_000 && to.getTime() % 60_000 === 0
  })

  property(
    "of a day, week or month has a comparison period of equal length",
    [now, window, firstUse],
    (at, window, ago) => {
      const { from, to, previousFrom } = rangeAt(at, window, ago)
      const length = to.getTime() - from.getTime()
      return window === "all"
        ? previousFrom === null
        : previousFrom !== null && from.getTime() - previousFrom.getTime() === length
    }
  )

  property("is covered by its buckets without gaps or overlaps", [now, window, firstUse], (at, window, ago) => {
    const range = rangeAt(at, window, ago)
    const buckets = bucketsOf(unitOf(window), range)
    const ends = [range.from, ...buckets.map(({ to }) => to)]
    return (
      buckets.every(({ from, to }, i) => from < to && from.getTime() === ends[i]?.getTime()) &&
      ends.at(-1)?.getTime() === range.to.getTime()
    )
  })

  property("has partial buckets only at its start and end", [now, window, firstUse], (at, window, ago) => {
    const range = rangeAt(at, window, ago)
    const unit = unitOf(window)
    const buckets = bucketsOf(unit, range)
    return buckets.every(({ start, from, partial }, i) => {
      const edge = i === 0 || i === buckets.length - 1
      const whole = startOf(unit, start).getTime() === start.getTime()
      const begun = i > 0 ? start.getTime() === from.getTime() : start <= from
      return whole && begun && (edge || !partial)
    })
  })

  it("has no partial bucket if it begins and ends at bucket boundaries", () => {
    const midnight = new Date("2026-06-07T17:00:30Z")
    const { from, to } = rangeOf("week", midnight, undefined)
    const buckets = bucketsOf("day", { from, to })
    expect(buckets.map(({ partial }) => partial)).toEqual([false, false, false, false, false, false, false])
    // One minute later, the first day is partial and a new day has begun.
    const later = rangeOf("week", new Date("2026-06-07T17:01:00Z"), undefined)
    expect(bucketsOf("day", later).map(({ partial }) => partial)).toEqual([
      true,
      ...[false, false, false, false, false, false],
      true
    ])
    expect(iso(bucketsOf("day", later).map(({ start }) => start)).at(0)).toBe("2026-05-31T17:00:00.000Z")
  })

  it("from a Monday to a Sunday has no partial week", () => {
    const range = rangeOf("all", new Date("2026-06-07T17:00:00Z"), new Date("2026-05-24T17:00:00Z"))
    expect(range.dataSince).toBe("2026-05-25")
    expect(bucketsOf("week", range).map(({ partial }) => partial)).toEqual([false, false])
  })

  it("excludes usage at its end", () => {
    const at = new Date("2026-06-07T17:00:00Z")
    expect(rangeOf("all", at, at)).toEqual({ from: at, to: at, previousFrom: null, dataSince: null })
  })
})

describe("a query for rankings", () => {
  it("requests the text rankings of the week by default", () => {
    expect(readWindow({})).toEqual(Either.right("week"))
    expect(readWindow({ window: "all", modality: "text" })).toEqual(Either.right("all"))
  })

  it.each([
    [{ window: "year" }, "window", ["day", "week", "month", "all"]],
    [{ window: "" }, "window", ["day", "week", "month", "all"]],
    [{ window: "Week" }, "window", ["day", "week", "month", "all"]],
    [{ window: "day,week" }, "window", ["day", "week", "month", "all"]],
    [{ modality: "image" }, "modality", ["text"]],
    [{ window: "day", modality: "" }, "modality", ["text"]]
  ])("is refused for the unknown value in %j", (query, param, allowed) => {
    expect(Either.flip(readWindow(query)).pipe(Either.getOrThrow)).toMatchObject({ param, allowed })
  })
})
