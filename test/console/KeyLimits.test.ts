import { describe, expect, it } from "vitest"
import {
  hasExpired,
  type KeyLimits,
  modelField,
  readLimits,
  typedLimits
} from "../../apps/console/src/api/KeyLimits.ts"
import { instantOf, typedTime } from "../../apps/console/src/format/Amounts.ts"

const limits: KeyLimits = {
  spend_usd_micro_per_day: 2_500_000,
  spend_usd_micro_per_month: null,
  spend_usd_micro_total: 0,
  requests_per_minute: 60,
  tokens_per_minute: null,
  concurrent_requests: null,
  expires_at: "2031-02-02T21:05:59.000Z",
  models: ["a", "b"]
}

describe("a change of limits", () => {
  it("has only the limits that the user changed", () => {
    const typed = typedLimits(limits, "id")
    expect(readLimits(limits, typed, "id")).toEqual({ change: {}, malformed: new Set() })
    const { [modelField("a")]: _, ...without } = typed
    const { change } = readLimits(
      limits,
      {
        ...without,
        spend_usd_micro_total: "1,000001",
        requests_per_minute: "",
        tokens_per_minute: "1.000.000",
        [modelField("c")]: "on",
        name: "laptop"
      },
      "id"
    )
    expect(change).toEqual({
      spend_usd_micro_total: 1_000_001,
      requests_per_minute: null,
      tokens_per_minute: 1_000_000,
      models: ["b", "c"]
    })
  })

  it("keeps an expiry in the last hours of the year 9999, for which a field in WIB has no value", () => {
    const last = { ...limits, expires_at: "9999-12-31T23:59:59.999Z" }
    const typed = typedLimits(last, "id")
    expect(typed.expires_at).toBe("9999-12-31T23:59")
    expect(readLimits(last, typed, "id").change).toEqual({})
  })

  it("removes the list of models if no model is selected", () => {
    const values = Object.fromEntries(
      Object.entries(typedLimits(limits, "id")).filter(([name]) => !name.startsWith("models."))
    )
    expect(readLimits(limits, values, "id").change).toEqual({ models: null })
  })

  it("names the limits with malformed values", () => {
    const { malformed } = readLimits(
      null,
      {
        spend_usd_micro_per_day: "five",
        requests_per_minute: "-1",
        concurrent_requests: "1e3",
        expires_at: "tomorrow"
      },
      "en"
    )
    expect([...malformed]).toEqual([
      "spend_usd_micro_per_day",
      "requests_per_minute",
      "concurrent_requests",
      "expires_at"
    ])
  })
})

describe("a typed time", () => {
  it("is written and read in WIB", () => {
    expect(typedTime("2031-02-02T21:05:59.000Z")).toBe("2031-02-03T04:05")
    expect(instantOf("2031-02-03T04:05")).toBe("2031-02-02T21:05:00.000Z")
  })
})

describe("a key", () => {
  it("is expired after its expiry", () => {
    expect(hasExpired(null)).toBe(false)
    expect(hasExpired({ ...limits, expires_at: null })).toBe(false)
    expect(hasExpired({ ...limits, expires_at: new Date(Date.now() + 60_000).toISOString() })).toBe(false)
    expect(hasExpired({ ...limits, expires_at: "2020-01-01T00:00:00.000Z" })).toBe(true)
  })
})
