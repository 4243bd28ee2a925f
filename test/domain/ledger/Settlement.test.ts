import * as Account from "@tollgate/domain/ledger/Account"
import { type Balances, decideHold } from "@tollgate/domain/ledger/Hold"
import * as Price from "@tollgate/domain/ledger/Price"
import type { Charge } from "@tollgate/domain/ledger/Settlement"
import { decideSettlement } from "@tollgate/domain/ledger/Settlement"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { balances, estimate, price, usage } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const charging = (charged: TokenUsage.TokenUsage): Charge => ({ charged, consumed: charged, source: "upstream" })

/** Returns undefined if the hold is refused. */
const run = (...[e, p, b, u]: [Parameters<typeof decideHold>[0], Price.Price, Balances, TokenUsage.TokenUsage]) => {
  const held = Either.getOrUndefined(decideHold(e, p, b))
  return held && { held, settled: decideSettlement(held.hold, charging(u), p, held) }
}

describe("a settlement", () => {
  property(
    "has a plan value, payg amount and write-off that add up to the cost",
    [estimate, price, balances, usage],
    (e, p, b, u) => {
      const result = run(e, p, b, u)
      if (result === undefined) return true
      const { costPico, planValuePico, paygPico, writeoffPico } = result.settled.settlement
      return costPico === Price.cost(p, u) && planValuePico + paygPico + writeoffPico === costPico
    }
  )

  property("leaves no balance below zero", [estimate, price, balances, usage], (e, p, b, u) => {
    const { plan, payg } = run(e, p, b, u)?.settled ?? { plan: undefined, payg: undefined }
    return (
      (plan === undefined || Account.available(plan) >= 0n) && (payg === undefined || Account.available(payg) >= 0n)
    )
  })

  property("releases the whole hold", [estimate, price, balances, usage], (e, p, b, u) => {
    const settled = run(e, p, b, u)?.settled
    return (
      settled === undefined ||
      (settled.plan?.debitsPending === b.plan?.debitsPending && settled.payg?.debitsPending === b.payg?.debitsPending)
    )
  })

  property("debits the amounts in its result", [estimate, price, balances, usage], (e, p, b, u) => {
    const settled = run(e, p, b, u)?.settled
    if (settled === undefined) return true
    const planDebit = (settled.plan?.debitsPosted ?? 0n) - (b.plan?.debitsPosted ?? 0n)
    const paygDebit = (settled.payg?.debitsPosted ?? 0n) - (b.payg?.debitsPosted ?? 0n)
    return planDebit === settled.settlement.planTokens && paygDebit === settled.settlement.paygPico
  })

  property(
    "writes something off only if no pay-as-you-go balance is left",
    [estimate, price, balances, usage],
    (e, p, b, u) => {
      const settled = run(e, p, b, u)?.settled
      if (settled === undefined || settled.settlement.writeoffPico === 0n) return true
      return settled.payg === undefined || Account.available(settled.payg) === 0n
    }
  )

  property(
    "debits pay-as-you-go only if the plan cannot cover all tokens",
    [estimate, price, balances, usage],
    (e, p, b, u) => {
      const settled = run(e, p, b, u)?.settled
      if (settled === undefined || settled.settlement.planTokens === TokenUsage.total(u))
        return settled?.settlement.paygPico !== undefined ? settled.settlement.paygPico === 0n : true
      return settled.plan === undefined || Account.available(settled.plan) === 0n
    }
  )

  it("releases the hold without a debit if nothing is charged", () => {
    const rate = Price.PicoPerToken(5n)
    const p = { input: rate, cacheWrite: rate, cacheRead: rate, output: rate }
    const payg = {
      id: Account.AccountId("a"),
      creditsPosted: 1_000n,
      debitsPosted: 0n,
      debitsPending: 0n
    } as Account.PaygAccount
    const request = { inputFloor: Tokens.Tokens(1n), inputCeiling: Tokens.Tokens(10n), output: Tokens.Tokens(10n) }
    const result = run(request, p, { plan: undefined, payg }, TokenUsage.none)
    expect(result?.held.hold.paygPico).toBe(100n)
    expect(result?.settled.payg).toEqual(payg)
  })
})
