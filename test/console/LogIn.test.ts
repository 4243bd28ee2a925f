import { type ResellerFailure, resellerErrorBody } from "@tollgate/adapters-http/wire/ResellerErrors"
import { ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { describe, expect, it } from "vitest"
import { problemOf } from "../../apps/console/src/api/Problem.ts"
import { inactiveStatusOf } from "../../apps/console/src/api/ResellerStatus.ts"

const refusal = (failure: ResellerFailure) => {
  const { status, body } = resellerErrorBody(failure, "the id")
  return problemOf(new Response(null, { status }), body)
}

describe("the refusal of a login", () => {
  it.each(["pending", "rejected", "suspended"] as const)("tells the console that a reseller is %s", (status) => {
    expect(inactiveStatusOf(refusal(new ResellerNotActive({ status })))).toBe(status)
  })

  it("with a wrong password tells the console no status", () => {
    expect(inactiveStatusOf(refusal(new InvalidCredentials()))).toBeUndefined()
    expect(inactiveStatusOf(undefined)).toBeUndefined()
  })
})
