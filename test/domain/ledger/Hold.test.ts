import * as Account from "@tollgate/domain/ledger/Account"
import { type Balances, decideHold } from "@tollgate/domain/ledger/Hold"
import * as Price from "@tollgate/domain/ledger/Price"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as UsdPico from "@tollgate/domain/money/UsdPico"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { balances, estimate, price } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const planAvailable = ({ plan }: Balances) => (plan === undefined ? Tokens.zero : Account.available(plan))
const paygAvailable = ({ payg }: Balances) => (payg === undefined ? 0n : Account.available(payg))

describe("a hold", () => {
  property("never exceeds the available balance", [estimate, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    return held === undefined || (held.hold.planTokens <= planAvailable(b) && held.hold.paygPico <= paygAvailable(b))
  })

  property("leaves no balance below zero", [estimate, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    if (held === undefined) return true
    const plan = held.plan === undefined || Account.available(held.plan) >= 0n
    return plan && (held.payg === undefined || Account.available(held.payg) >= 0n)
  })

  property(
    "sets aside plan tokens first, and pay-as-you-go money only if the whole plan is set aside",
    [estimate, price, balances],
    (e, p, b) => {
      const held = Either.getOrUndefined(decideHold(e, p, b))
      return held === undefined || held.hold.paygPico === 0n || held.hold.planTokens === planAvailable(b)
    }
  )

  property(
    "is refused exactly if the balances do not cover the smallest usage",
    [estimate, price, balances],
    (e, p, b) => {
      const least = TokenUsage.plain(e.inputFloor, Tokens.min(Tokens.Tokens(1n), e.output))
      const owed = Price.cost(p, least) - Price.prefixCost(p, least, planAvailable(b))
      return Either.isLeft(decideHold(e, p, b)) === owed > paygAvailable(b)
    }
  )

  property("sets aside the whole estimate if the balances cover it", [estimate, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    if (held === undefined) return true
    const expected = TokenUsage.plain(e.inputCeiling, e.output)
    const value = Price.prefixCost(p, expected, held.hold.planTokens) + held.hold.paygPico
    return value === Price.cost(p, expected) || held.hold.paygPico === paygAvailable(b)
  })

  it("needs no balance for output if the request generates no output", () => {
    const one = Price.PicoPerToken(1n)
    const [inputFloor, output] = [Tokens.Tokens(10n), Tokens.zero]
    const prices = { input: one, cacheWrite: one, cacheRead: one, output: Price.PicoPerToken(1_000n) }
    const [nothing, ten] = [UsdPico.zero, UsdPico.UsdPico(10n)]
    const payg = { id: Account.AccountId("a"), creditsPosted: ten, debitsPosted: nothing, debitsPending: nothing }
    const held = decideHold({ inputFloor, inputCeiling: inputFloor, output }, prices, { plan: undefined, payg })
    expect(Either.getOrThrow(held).hold).toEqual({ planTokens: 0n, paygPico: 10n })
  })

  it("needs no balance for a free model", () => {
    const nothing = Price.PicoPerToken(0n)
    const free = { input: nothing, cacheWrite: nothing, cacheRead: nothing, output: nothing }
    const ask = { inputFloor: Tokens.Tokens(10n), inputCeiling: Tokens.Tokens(20n), output: Tokens.Tokens(5n) }
    expect(Either.isRight(decideHold(ask, free, { plan: undefined, payg: undefined }))).toBe(true)
  })
})
