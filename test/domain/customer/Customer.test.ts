import { decideLink } from "@tollgate/domain/customer/Customer"
import { displayCostUsdMicroOf, type UsageItem } from "@tollgate/domain/customer/UsageItem"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { describe, expect, it } from "vitest"

describe("a reseller's customer", () => {
  it.each([
    ["nobody", "closed", true, true],
    ["nobody", "open", true, true],
    ["customer", "closed", false, false],
    ["customer", "open", false, false],
    ["stranger", "closed", false, false],
    ["stranger", "open", false, true]
  ] as const)("from %s under the policy %s: created %s, linked %s", (known, policy, create, link) => {
    expect(decideLink(known, policy)).toEqual({ create, link })
  })

  it("cannot be had by knowing the email of somebody else's user", () => {
    expect(decideLink("stranger", "closed").link).toBe(false)
  })
})

describe("a usage item", () => {
  it("shows its exact cost in micro-USD", () => {
    expect(displayCostUsdMicroOf({ costPico: UsdPico(1_234_250_000n) } as UsageItem)).toBe("1234.25")
  })
})
