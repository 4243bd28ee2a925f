import {
  allowsModel,
  changeLimits,
  hasExpired,
  isCounted,
  isUnlimited,
  KeyLimitsChange,
  localLimits,
  noLimits,
  replacementOf
} from "@tollgate/domain/customer/KeyLimits"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { read } from "@tollgate/domain/validation/Validation"
import { Either } from "effect"
import { describe, expect, it } from "vitest"

const change = (input: unknown) => read(KeyLimitsChange)(input)
const issuesOf = (input: unknown) => {
  const result = change(input)
  return Either.isLeft(result) ? result.left.details.map(({ path, message }) => `${path}: ${message}`) : []
}

describe("a change of limits", () => {
  it("leaves absent limits unchanged", () => {
    const first = changeLimits(
      noLimits,
      Either.getOrThrow(
        change({ spend_usd_micro_per_day: 5_000_000, requests_per_minute: 60, models: ["b", "a", "b"] })
      )
    )
    expect(first).toEqual({ ...noLimits, spendPerDay: 5_000_000n, requestsPerMinute: 60, models: ["a", "b"] })
    const second = changeLimits(first, Either.getOrThrow(change({ concurrent_requests: 2 })))
    expect(second).toEqual({ ...first, concurrentRequests: 2 })
  })

  it("removes limits that are null", () => {
    const before = { ...noLimits, spendPerDay: UsdMicro(5_000_000n), requestsPerMinute: 60 }
    const after = changeLimits(before, Either.getOrThrow(change({ requests_per_minute: null })))
    expect(after).toEqual({ ...before, requestsPerMinute: undefined })
  })

  it("can name a model with 200 characters of two UTF-16 units each", () => {
    expect(issuesOf({ models: ["😀".repeat(200)] })).toEqual([])
  })

  it("replaces all limits for an operator", () => {
    const before = { ...noLimits, spendPerDay: UsdMicro(5_000_000n), requestsPerMinute: 60, models: ["a"] }
    const requested = Either.getOrThrow(change({ requests_per_minute: 30, models: null }))
    expect(changeLimits(before, replacementOf(requested))).toEqual({ ...noLimits, requestsPerMinute: 30 })
  })

  it.each([
    [{ spend_usd_micro_per_day: -1 }, "spend_usd_micro_per_day: a whole number from 0 to 1000000000000"],
    [{ spend_usd_micro_total: 0.5 }, "spend_usd_micro_total: a whole number from 0 to 1000000000000"],
    [{ requests_per_minute: 0 }, "requests_per_minute: a whole number from 1 to 1000000"],
    [{ tokens_per_minute: "many" }, "tokens_per_minute: a number"],
    [{ expires_at: "tomorrow" }, "expires_at: a time such as 2027-01-31T17:00:00Z"],
    [{ expires_at: "2027-02-30T17:00:00Z" }, "expires_at: a time such as 2027-01-31T17:00:00Z"],
    [{ expires_at: "2027-01-31T24:00:00Z" }, "expires_at: a time such as 2027-01-31T17:00:00Z"],
    [{ expires_at: "2027-01-31T99:00:00Z" }, "expires_at: a time such as 2027-01-31T17:00:00Z"],
    [{ models: [] }, "models: 1 to 100 public names of models"],
    [{ models: ["😀".repeat(201)] }, "models.0: the public name of a model"]
  ])("refuses %j", (input, issue) => {
    expect(issuesOf(input)).toEqual([issue])
  })

  it("refuses a misspelt limit", () => {
    expect(issuesOf({ spend_per_day: 5 })).toHaveLength(1)
  })
})

describe("limits of a key", () => {
  it("are counted by the ledger if they limit concurrent requests", () => {
    expect(isCounted({ ...noLimits, concurrentRequests: 1 })).toBe(true)
  })

  it("are not counted by the ledger if they are only an expiry and models", () => {
    expect(isCounted({ ...noLimits, expiresAt: new Date(), models: ["m"] })).toBe(false)
  })

  it("count as unlimited only if all of them are absent", () => {
    expect(isUnlimited(noLimits)).toBe(true)
    expect(isUnlimited({ ...noLimits, models: ["m"] })).toBe(false)
  })

  it("are undefined for a key that has none", () => {
    expect(localLimits(false, undefined, undefined)).toBeUndefined()
  })

  it("permit a request if they are undefined", () => {
    expect(hasExpired(undefined, 0)).toBe(false)
    expect(allowsModel(undefined, "m")).toBe(true)
  })

  it("end a key at its expiry", () => {
    const limits = localLimits(false, new Date(1_000), undefined)
    expect([hasExpired(limits, 999), hasExpired(limits, 1_000)]).toEqual([false, true])
  })

  it("allow only the listed models", () => {
    const limits = localLimits(false, new Date(1_000), ["m"])
    expect([allowsModel(limits, "m"), allowsModel(limits, "n")]).toEqual([true, false])
  })
})
