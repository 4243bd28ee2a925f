import { ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { decideReview, ReviewMove } from "@tollgate/domain/reseller/Review"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { aReseller } from "../../support/resellers.ts"

const move = FastCheck.constantFrom(...ReviewMove.literals)
const status = FastCheck.constantFrom(...ResellerStatus.literals)

describe("a review", () => {
  it.each([
    ["pending", "approve", "active"],
    ["pending", "reject", "rejected"],
    ["rejected", "approve", "active"],
    ["active", "suspend", "suspended"],
    ["suspended", "reactivate", "active"]
  ] as const)("of a %s reseller with the command %s leads to the status %s", (from, by, to) => {
    const reviewed = Either.getOrThrow(decideReview(aReseller({ status: from }), by))
    expect(reviewed).toMatchObject({ changed: true, reseller: { status: to } })
  })

  it("has exactly five transitions", () => {
    const transitions = ResellerStatus.literals.flatMap((from) =>
      ReviewMove.literals.flatMap((by) => {
        const reviewed = decideReview(aReseller({ status: from }), by)
        return Either.isRight(reviewed) && reviewed.right.changed ? [`${from} ${by}`] : []
      })
    )
    expect(transitions.sort()).toEqual([
      "active suspend",
      "pending approve",
      "pending reject",
      "rejected approve",
      "suspended reactivate"
    ])
  })

  property("changes nothing if it is repeated", [status, move], (from, by) => {
    const once = decideReview(aReseller({ status: from }), by)
    if (Either.isLeft(once)) return true
    const twice = decideReview(once.right.reseller, by)
    return Either.isRight(twice) && !twice.right.changed && twice.right.reseller === once.right.reseller
  })

  property("increases the token version only if it is a suspension", [status, move], (from, by) => {
    const before = aReseller({ status: from, tokenVersion: 3 })
    const reviewed = decideReview(before, by)
    if (Either.isLeft(reviewed)) return reviewed.left.status === from && reviewed.left.move === by
    const { changed, reseller } = reviewed.right
    return reseller.tokenVersion === (changed && by === "suspend" ? 4 : 3)
  })
})
