import {
  type ClientAddress,
  type CountedWindow,
  decideAttempt,
  type LoginAttempt,
  loginWindows,
  refusalOf,
  signupWindows
} from "@tollgate/domain/reseller/AttemptLimit"
import type { Email } from "@tollgate/domain/validation/Email"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { instant } from "../../support/resellers.ts"

const attemptOf = (address: string, email: string | undefined): LoginAttempt => ({
  address: address as ClientAddress,
  email: email as Email | undefined
})

/** Decides attempts one after the other and keeps the counted windows. */
class Attempts {
  readonly #hits = new Map<string, ReadonlyArray<Date>>()
  attempt(attempt: LoginAttempt, atMillis: number) {
    const windows = loginWindows(attempt).map(
      (window): CountedWindow => ({ window, hits: this.#hits.get(window.key) ?? [] })
    )
    const decided = decideAttempt(windows, instant(atMillis))
    if (Either.isRight(decided)) for (const { window, hits } of decided.right) this.#hits.set(window.key, hits)
    return Either.mapLeft(decided, refusalOf)
  }
  /** Returns how many of `count` attempts are allowed. */
  allowed(count: number, attemptAt: (i: number) => LoginAttempt, everyMillis = 100) {
    return Array.from({ length: count }, (_, i) => this.attempt(attemptAt(i), i * everyMillis)).filter(Either.isRight)
      .length
  }
}

describe("a login attempt", () => {
  it("is refused after 5 per minute for one email from one address", () => {
    const attempts = new Attempts()
    expect(attempts.allowed(10, () => attemptOf("1.1.1.1", "a@b.c"))).toBe(5)
    const sixth = attempts.attempt(attemptOf("1.1.1.1", "a@b.c"), 1_000)
    expect(Either.isLeft(sixth) && sixth.left.retryAfterSeconds).toBe(60)
    expect(Either.isRight(attempts.attempt(attemptOf("1.1.1.1", "other@b.c"), 1_000))).toBe(true)
  })

  it("is refused after 20 per minute for one email", () => {
    expect(new Attempts().allowed(100, (i) => attemptOf(`1.1.1.${i}`, "a@b.c"))).toBe(20)
  })

  it("is refused after 60 per minute from one address", () => {
    expect(new Attempts().allowed(100, (i) => attemptOf("1.1.1.1", `${i}@b.c`))).toBe(60)
  })

  it("with an invalid email is refused after 5 per minute from one address", () => {
    const attempts = new Attempts()
    expect(attempts.allowed(10, () => attemptOf("1.1.1.1", undefined))).toBe(5)
    expect(Either.isRight(attempts.attempt(attemptOf("2.2.2.2", undefined), 1_000))).toBe(true)
  })

  it("does not count if it is refused", () => {
    const attempts = new Attempts()
    const tries = Array.from({ length: 70 }, (_, second) =>
      Either.isRight(attempts.attempt(attemptOf("1.1.1.1", "a@b.c"), second * 1_000))
    )
    expect(tries.flatMap((allowed, second) => (allowed ? [second] : []))).toEqual([0, 1, 2, 3, 4, 61, 62, 63, 64, 65])
  })

  const attempt = FastCheck.record({
    address: FastCheck.constantFrom("1.1.1.1", "9.9.9.9", "::1", "zz", "a"),
    email: FastCheck.option(FastCheck.constantFrom("a@b.c", "z@b.c", "from@b.c"), { nil: undefined })
  }).map(({ address, email }) => attemptOf(address, email))

  property("has its windows sorted by key", [attempt], (attempt) => {
    const keys = loginWindows(attempt).map(({ key }) => key)
    return keys.join("\n") === [...keys].sort().join("\n") && new Set(keys).size === keys.length
  })
})

describe("a signup", () => {
  const from = (address: string) => signupWindows(address as ClientAddress)

  it("is refused after 10 per hour from one address", () => {
    const hits = Array.from({ length: 10 }, (_, i) => instant(i * 60_000))
    const decideAt = (millis: number) =>
      decideAttempt(
        from("1.1.1.1").map((window) => ({ window, hits })),
        instant(millis)
      )
    const refused = decideAt(10 * 60_000)
    expect(Either.isLeft(refused) && refusalOf(refused.left).retryAfterSeconds).toBe(50 * 60 + 1)
    expect(Either.isRight(decideAt(60 * 60_000 + 1))).toBe(true)
  })

  it("is counted apart from the logins of its address", () => {
    const keys = [...from("1.1.1.1"), ...loginWindows(attemptOf("1.1.1.1", "a@b.c"))].map(({ key }) => key)
    expect(new Set(keys).size).toBe(4)
  })
})
