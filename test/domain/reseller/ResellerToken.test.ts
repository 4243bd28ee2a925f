import { ResellerId, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { claimsOf, decideAccess } from "@tollgate/domain/reseller/ResellerToken"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { aReseller } from "../../support/resellers.ts"

describe("a token with a valid signature", () => {
  const claims = claimsOf(aReseller())

  it("grants access to an active reseller", () => {
    expect(Either.getOrThrow(decideAccess(claims, aReseller()))).toEqual(aReseller())
  })

  it.each(ResellerStatus.literals.filter((status) => status !== "active"))(
    "grants no access to a %s reseller",
    (status) => {
      expect(Either.isLeft(decideAccess(claims, aReseller({ status })))).toBe(true)
    }
  )

  it("grants no access with an earlier token version", () => {
    expect(Either.isLeft(decideAccess(claims, aReseller({ tokenVersion: 1 })))).toBe(true)
  })

  it("grants no access to a missing or another reseller", () => {
    const other = aReseller({ id: ResellerId.make("01930000-0000-7000-8000-000000000002") })
    expect(Either.isLeft(decideAccess(claims, other))).toBe(true)
    expect(Either.isLeft(decideAccess(claims, undefined))).toBe(true)
  })
})
