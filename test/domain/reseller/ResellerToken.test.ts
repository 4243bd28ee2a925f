import { ResellerId, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { claimsOf, decideAccess } from "@tollgate/domain/reseller/ResellerToken"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { aReseller } from "../../support/resellers.ts"

describe("a genuine token", () => {
  const claims = claimsOf(aReseller())

  it("opens the door to an active reseller", () => {
    expect(Either.getOrThrow(decideAccess(claims, aReseller()))).toEqual(aReseller())
  })

  it.each(ResellerStatus.literals.filter((status) => status !== "active"))(
    "opens nothing to one that is %s",
    (status) => {
      expect(Either.isLeft(decideAccess(claims, aReseller({ status })))).toBe(true)
    }
  )

  it("of an earlier version opens nothing", () => {
    expect(Either.isLeft(decideAccess(claims, aReseller({ tokenVersion: 1 })))).toBe(true)
  })

  it("of somebody else, or of nobody, opens nothing", () => {
    const other = aReseller({ id: ResellerId.make("01930000-0000-7000-8000-000000000002") })
    expect(Either.isLeft(decideAccess(claims, other))).toBe(true)
    expect(Either.isLeft(decideAccess(claims, undefined))).toBe(true)
  })
})
