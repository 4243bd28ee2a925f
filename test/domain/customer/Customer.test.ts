import { decideLink } from "@tollgate/domain/customer/Customer"
import { displayCostUsdMicroOf, type UsageItem } from "@tollgate/domain/customer/Usage"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { describe, expect, it } from "vitest"

describe("the creation of a customer", () => {
  it.each([
    ["none", "closed", true, true],
    ["none", "open", true, true],
    ["customer", "closed", false, false],
    ["customer", "open", false, false],
    ["unlinked_user", "closed", false, false],
    ["unlinked_user", "open", false, true]
  ] as const)("with email owner %s and policy %s: user created %s, link created %s", (known, policy, create, link) => {
    expect(decideLink(known, policy)).toEqual({ create, link })
  })

  it("links no existing user if the link policy is closed", () => {
    expect(decideLink("unlinked_user", "closed").link).toBe(false)
  })
})

describe("a usage item", () => {
  it("shows its exact cost in micro-USD", () => {
    expect(displayCostUsdMicroOf({ costPico: UsdPico(1_234_250_000n) } as UsageItem)).toBe("1234.25")
  })
})
