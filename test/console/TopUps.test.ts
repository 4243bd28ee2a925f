import { resellerErrorBody } from "@tollgate/adapters-http/wire/ResellerErrors"
import { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import { describe, expect, it } from "vitest"
import { canBePaid, pollMillisOf, stateOf } from "../../apps/console/src/api/OrderState.ts"
import { Problem, problemOf } from "../../apps/console/src/api/Problem.ts"
import { formatOf } from "../../apps/console/src/format/Format.ts"
import { texts as english } from "../../apps/console/src/i18n/en.ts"
import { texts as indonesian } from "../../apps/console/src/i18n/id.ts"
import { amountIssueOf } from "../../apps/console/src/pages/topups/AmountIssue.ts"
import { setClock } from "../../apps/console/src/state/Clock.ts"

type Order = Parameters<typeof stateOf>[0]

const order = (members: Omit<Order, "expires_at">, hoursLeft: number): Order => ({
  expires_at: new Date(Date.now() + hoursLeft * 3_600_000).toISOString(),
  ...members
})

const part = { expected_raw: "10", received_raw: "4" }

describe("the page of an order", () => {
  it("uses the clock of the gateway, because the clock of the device can be wrong by hours", () => {
    const dateAt = (hours: number) => new Headers({ date: new Date(Date.now() + hours * 3_600_000).toUTCString() })
    setClock(dateAt(-2))
    expect(stateOf(order({ status: "pending" }, -1))).toBe("waiting")
    setClock(dateAt(2))
    expect(stateOf(order({ status: "pending" }, 1))).toBe("overdue")
    setClock(dateAt(0))
    expect(stateOf(order({ status: "pending" }, 1))).toBe("waiting")
  })

  it("asks for a missing amount only until the deadline", () => {
    const state = stateOf(order({ status: "pending", ...part }, 1))
    expect([state, canBePaid(state), pollMillisOf(state)]).toEqual(["underpaid", true, 4_000])
    for (const status of ["pending", "expired"] as const) {
      const late = stateOf(order({ status, ...part }, -1))
      expect([late, canBePaid(late), pollMillisOf(late)]).toEqual(["underpaidLate", false, 30_000])
    }
  })

  it("asks for no payment of an order that expired before its deadline", () => {
    const state = stateOf(order({ status: "expired", ...part }, 1))
    expect([state, canBePaid(state)]).toEqual(["underpaidLate", false])
  })

  it("reads an open order often, a late or expired order rarely, and a final order not again", () => {
    const pauses = [
      order({ status: "pending" }, 1),
      order({ status: "crediting", ...part }, -1),
      order({ status: "pending" }, -1),
      order({ status: "expired" }, -1),
      order({ status: "credited" }, 1),
      order({ status: "failed" }, 1)
    ].map((each) => pollMillisOf(stateOf(each)))
    expect(pauses).toEqual([4_000, 4_000, 30_000, 30_000, undefined, undefined])
  })
})

describe.each([
  ["id", indonesian],
  ["en", english]
] as const)("the message for a refused amount in the language %s", (language, texts) => {
  const format = formatOf(language)
  const issueOf = (problem: Problem | undefined) => amountIssueOf(problem, texts, format)
  const refusal = (members: ConstructorParameters<typeof AmountOutOfRange>[0]) => {
    const { status, body } = resellerErrorBody(new AmountOutOfRange(members), "the id")
    return problemOf(new Response(null, { status }), body)
  }

  it("names the bounds or the payment provider", () => {
    const bounds = { min: 10_000n, max: 9_500_000n }
    expect(issueOf(refusal({ path: "amount_idr", bounds }))).toBe(
      texts.topUps.amountRange(format.idr(10_000), format.idr(9_500_000))
    )
    expect(issueOf(refusal({ path: "amount_usd_micro", bounds: { min: 1_000_000n, max: 2_000_000n } }))).toBe(
      texts.topUps.amountRange(format.usd(1_000_000), format.usd(2_000_000))
    )
    for (const path of ["amount_idr", "amount_usd_micro"] as const)
      expect(issueOf(refusal({ path, bounds: null }))).toBe(texts.topUps.amountRefused)
  })

  it("shows the accepted form of an invalid amount", () => {
    const details = [{ path: "amount_idr", message: "a whole number" }]
    expect(issueOf(new Problem(422, "validation_error", "amount_idr must be a whole number.", { details }))).toBe(
      texts.topUps.amountIssues.rupiah
    )
    expect(issueOf(new Problem(503, "provider_unavailable", "The payment provider does not respond."))).toBeUndefined()
    expect(issueOf(undefined)).toBeUndefined()
  })
})
