import * as ApiKey from "@tollgate/domain/customer/ApiKey"
import { tokenPlan } from "@tollgate/domain/customer/Customer"
import { decideCredit, MAX_TOTAL_CREDIT, TotalCreditExceeded } from "@tollgate/domain/customer/PaygCredit"
import type { UserId } from "@tollgate/domain/customer/User"
import { AccountId, type PlanAccount } from "@tollgate/domain/ledger/Account"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Email } from "@tollgate/domain/validation/Email"
import { Either, FastCheck, Redacted, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { planAccount } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const random = FastCheck.uint8Array({ minLength: 44, maxLength: 44 })
const textOf = (bytes: Uint8Array) => Redacted.value(ApiKey.render("tg", ApiKey.generateKey("tg", bytes)))

describe("an API key", () => {
  property("has the form that secret scanners search for", [random], (bytes) =>
    /^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/.test(textOf(bytes))
  )

  property("has the same parts after conversion to text and back", [random], (bytes) => {
    const generated = ApiKey.generateKey("tg", bytes)
    const read = Either.getOrThrow(ApiKey.parse("tg", textOf(bytes)))
    return (
      read.publicId === generated.publicId && Redacted.value(read.secretPart) === Redacted.value(generated.secretPart)
    )
  })

  property(
    "is rejected after a change of one letter or digit",
    [random, FastCheck.nat(68), FastCheck.nat(60)],
    (bytes, at, shift) => {
      const text = textOf(bytes)
      const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      const old = text.charAt(at)
      if (old === "_" || at < 3) return true
      const other = alphabet.charAt((alphabet.indexOf(old) + 1 + shift) % 62)
      return Either.isLeft(ApiKey.parse("tg", text.slice(0, at) + other + text.slice(at + 1)))
    }
  )

  it.each(["", "tg", "tg_", "tg__", "sk-abc", "tg_short_short", "tg_a_b_c", `tg_${"a".repeat(600)}`])(
    "cannot be %j",
    (text) => {
      expect(Either.isLeft(ApiKey.parse("tg", text))).toBe(true)
    }
  )

  property("is rejected with another prefix", [random], (bytes) => Either.isLeft(ApiKey.parse("other", textOf(bytes))))

  it("does not show its secret part in JSON", () => {
    const key = ApiKey.generateKey("tg", new Uint8Array(44).fill(7))
    expect(JSON.stringify(key)).not.toContain(Redacted.value(key.secretPart))
  })
})

describe("an email address", () => {
  const read = Schema.decodeUnknownEither(Email)

  it("is read without the spaces around it and in lower case", () => {
    expect(Either.getOrThrow(read("  Ada@Example.COM "))).toBe("ada@example.com")
  })

  it.each(["", "a", "a@b", "@b.c", "a@", "a b@c.d", "a@b..c", "a@b.c,d@e.f", 7, null])("cannot be %j", (text) => {
    expect(Either.isLeft(read(text))).toBe(true)
  })
})

describe("a plan", () => {
  property("has the purchased minus the used tokens as remaining tokens", [planAccount], (account) => {
    const plan = tokenPlan("m", account)
    return (
      plan.purchased === account.creditsPosted &&
      plan.used === account.debitsPosted &&
      plan.remaining === plan.purchased - plan.used
    )
  })

  it("is exhausted when no token remains", () => {
    const planAfter = (used: bigint) =>
      tokenPlan("m", { id: AccountId("a"), creditsPosted: 10n, debitsPosted: used, debitsPending: 0n } as PlanAccount)
    expect([planAfter(9n).status, planAfter(10n).status]).toEqual(["active", "exhausted"])
  })

  it("does not count open holds as used", () => {
    const account = { id: AccountId("a"), creditsPosted: 10n, debitsPosted: 3n, debitsPending: 7n } as PlanAccount
    expect(tokenPlan("m", account)).toMatchObject({ remaining: 7n, status: "active" })
  })
})

describe("an operator's credit", () => {
  const request = { userId: "u" as UserId, amount: UsdMicro(5n), operationId: "op" }

  const none = UsdPico(0n)

  it("is booked once per operation id", () => {
    expect(Either.getOrThrow(decideCredit(request, none, undefined)).creditPico).toBe(5_000_000n)
    const earlier = { userId: "u" as UserId, amountPico: 5_000_000n }
    expect(Either.getOrThrow(decideCredit(request, none, earlier)).creditPico).toBeUndefined()
  })

  it.each([
    ["another amount", { userId: "u" as UserId, amountPico: 6_000_000n }],
    ["another user", { userId: "v" as UserId, amountPico: 5_000_000n }]
  ])("is a conflict if its operation id was used for %s", (_, earlier) => {
    expect(Either.isLeft(decideCredit(request, none, earlier))).toBe(true)
  })

  it("is refused if all credits of the customer would exceed 9,223,372.036854775807 USD", () => {
    expect(MAX_TOTAL_CREDIT).toBe(9_223_372_036_854_775_807n)
    const most = UsdPico(MAX_TOTAL_CREDIT - 5_000_000n)
    expect(Either.getOrThrow(decideCredit(request, most, undefined)).creditPico).toBe(5_000_000n)
    const refused = Either.flip(decideCredit(request, UsdPico(most + 1n), undefined))
    expect(Either.getOrThrow(refused)).toEqual(new TotalCreditExceeded({ creditableUsdMicro: 4n }))
    const earlier = { userId: "u" as UserId, amountPico: 5_000_000n }
    expect(Either.getOrThrow(decideCredit(request, MAX_TOTAL_CREDIT, earlier)).creditPico).toBeUndefined()
  })
})
