import { decideResolution } from "@tollgate/domain/images/ImageReview"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { available } from "@tollgate/domain/ledger/Account"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { paygAccount } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const request = RequestId("request")
const amount = FastCheck.bigInt({ min: 1n, max: 10n ** 12n }).map((n) => UsdMicro(n))

describe("the review of an image", () => {
  property("charges the whole amount or nothing", [amount, paygAccount], (amount, payg) => {
    const pico = amount * 1_000_000n
    return Either.match(decideResolution(request, { _tag: "Charged", amount }, undefined, payg), {
      onLeft: ({ _tag }) => _tag === "InsufficientBalance" && available(payg) < pico,
      onRight: ({ booking, payg: after }) =>
        after !== undefined &&
        available(after) === available(payg) - pico &&
        available(after) >= 0n &&
        booking?.amount === pico &&
        booking.debit === payg.id &&
        booking.ref === request
    })
  })

  it("books no transfer if the charge is waived", () => {
    expect(decideResolution(request, { _tag: "Waived" }, undefined, undefined)).toEqual(
      Either.right({ payg: undefined, booking: undefined })
    )
  })

  it("refuses to charge a customer without a balance", () => {
    expect(decideResolution(request, { _tag: "Charged", amount: UsdMicro(1n) }, undefined, undefined)).toMatchObject({
      left: { _tag: "InsufficientBalance" }
    })
  })

  it.each([["waived"], ["charged"]] as const)("is refused if the request is already %s", (earlier) => {
    for (const resolution of [{ _tag: "Waived" }, { _tag: "Charged", amount: UsdMicro(1n) }] as const) {
      expect(decideResolution(request, resolution, earlier, undefined)).toMatchObject({
        left: { _tag: "ReviewResolved", resolution: earlier }
      })
    }
  })
})
