import * as Account from "@tollgate/domain/ledger/Account"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { decideAdjustment, type QuotaAdjustment, QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { aQuota, aReseller } from "../../support/resellers.ts"

const adjustment = (change: bigint): QuotaAdjustment => ({
  resellerId: aReseller().id,
  change: QuotaChange(change),
  operationId: OperationId.make("op")
})
const change = FastCheck.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }).filter((n) => n !== 0n)
const balance = FastCheck.bigInt({ min: 0n, max: 10n ** 15n })

describe("a quota adjustment", () => {
  property("transfers its amount to or from the quota", [change, balance], (change, balance) => {
    const decided = decideAdjustment(adjustment(change), aQuota(balance), undefined)
    if (Either.isLeft(decided)) return decided.left._tag === "InsufficientQuota" && balance + change < 0n
    const { quota, booking } = decided.right
    const moved = booking === undefined ? 0n : booking.credit === quota.id ? booking.amount : -booking.amount
    return Account.available(quota) === balance + change && moved === change && balance + change >= 0n
  })

  it("is booked once per operation id", () => {
    const earlier = { resellerId: aReseller().id, change: 5n }
    const again = Either.getOrThrow(decideAdjustment(adjustment(5n), aQuota(7n), earlier))
    expect(again).toEqual({ quota: aQuota(7n), booking: undefined })
  })

  it.each([
    ["another amount", { resellerId: aReseller().id, change: 6n }],
    ["the other direction", { resellerId: aReseller().id, change: -5n }],
    ["another reseller", { resellerId: ResellerId.make("01930000-0000-7000-8000-000000000002"), change: 5n }]
  ])("is a conflict if its operation id was used for %s", (_, earlier) => {
    const refused = Either.flip(decideAdjustment(adjustment(5n), aQuota(7n), earlier))
    expect(Either.getOrThrow(refused)._tag).toBe("AdjustmentConflict")
  })

  it("is rejected if it is zero", () => {
    expect(QuotaChange.is(0n)).toBe(false)
  })
})
