import { isDeepStrictEqual } from "node:util"
import * as Account from "@tollgate/domain/ledger/Account"
import {
  type Balances,
  balancesCover,
  coveredOutput,
  covers,
  coversEstimate,
  decideHold,
  type Estimate,
  extendHold,
  growHold,
  type Hold,
  isAmple
} from "@tollgate/domain/ledger/Hold"
import * as Price from "@tollgate/domain/ledger/Price"
import { decideSettlement } from "@tollgate/domain/ledger/Settlement"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as UsdPico from "@tollgate/domain/money/UsdPico"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { balances, estimate, price } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const planAvailable = ({ plan }: Balances) => (plan === undefined ? Tokens.zero : Account.available(plan))
const paygAvailable = ({ payg }: Balances) => (payg === undefined ? 0n : Account.available(payg))

/** Thousandths. */
const share = FastCheck.bigInt({ min: 0n, max: 1_000n })

/** Returns a prompt of which these thousandths were written to a cache, and then read from a cache. */
const promptOf = (tokens: bigint, written: bigint, read: bigint) => {
  const cacheWrite = (tokens * written) / 1_000n
  const cacheRead = ((tokens - cacheWrite) * read) / 1_000n
  return {
    input: Tokens.Tokens(tokens - cacheWrite - cacheRead),
    cacheWrite: Tokens.Tokens(cacheWrite),
    cacheRead: Tokens.Tokens(cacheRead)
  }
}

/** Returns the usage that a hold sets aside for an estimate, with this prompt instead of the input ceiling. */
const usageOf = (e: Estimate, p: Price.Price, prompt = e.inputCeiling): TokenUsage.TokenUsage => ({
  ...TokenUsage.none,
  [Price.dearestPromptClass(p)]: Tokens.add(prompt, e.unsizedInput ?? Tokens.zero),
  output: e.output
})

const NO_MONEY: Account.PaygAccount = {
  id: Account.AccountId("a"),
  creditsPosted: UsdPico.zero,
  debitsPosted: UsdPico.zero,
  debitsPending: UsdPico.zero
}

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

  property("sets aside pay-as-you-go money only after the whole plan", [estimate, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    return held === undefined || held.hold.paygPico === 0n || held.hold.planTokens === planAvailable(b)
  })

  property(
    "without unsized content is refused exactly if the balances do not cover the smallest usage",
    [estimate, price, balances],
    ({ unsizedInput: _, ...e }, p, b) => {
      const least = TokenUsage.plain(e.inputFloor, Tokens.min(Tokens.Tokens(1n), e.output))
      const owed = Price.cost(p, least) - Price.prefixCost(p, least, planAvailable(b))
      return Either.isLeft(decideHold(e, p, b)) === owed > paygAvailable(b)
    }
  )

  property("sets aside the whole estimate or everything available", [estimate, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    if (held === undefined) return true
    const valueOf = (usage: TokenUsage.TokenUsage) =>
      Price.prefixCost(p, usage, held.hold.planTokens) + held.hold.paygPico - Price.cost(p, usage)
    const isUsedUp = held.hold.paygPico === paygAvailable(b) && held.hold.planTokens === planAvailable(b)
    return valueOf(usageOf(e, p)) === 0n || valueOf(usageOf(e, p, e.inputLimit)) === 0n || isUsedUp
  })

  property("sets aside the input limit if the balance is large, otherwise the estimate", [estimate, price], (e, p) => {
    const [expected, largest] = [usageOf(e, p), usageOf(e, p, e.inputLimit)]
    const extra = Price.cost(p, largest) - Price.cost(p, expected)
    const holdFrom = (available: bigint) => {
      const payg = { ...NO_MONEY, creditsPosted: UsdPico.UsdPico(available) }
      return Either.getOrThrow(decideHold(e, p, { plan: undefined, payg })).hold
    }
    const large = Price.cost(p, expected) + 10n * extra
    if (holdFrom(large).paygPico !== Price.cost(p, largest)) return false
    return extra === 0n || holdFrom(large - 1n).paygPico === Price.cost(p, expected)
  })

  const classes = FastCheck.tuple(share, share)
  property(
    "that covers its estimate covers each usage within the estimate, in every class of prompt tokens",
    [estimate, price, balances, classes],
    (e, p, b, [written, read]) => {
      const held = Either.getOrUndefined(decideHold(e, p, b))
      if (held === undefined || !coversEstimate(held.hold, e, p)) return true
      const prompt = promptOf(e.inputCeiling + (e.unsizedInput ?? 0n), written, read)
      return covers(held.hold, { ...prompt, output: e.output }, p)
    }
  )

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
    const request = { inputFloor: Tokens.Tokens(10n), inputCeiling: Tokens.Tokens(20n), output: Tokens.Tokens(5n) }
    expect(Either.isRight(decideHold(request, free, { plan: undefined, payg: undefined }))).toBe(true)
  })
})

describe("a hold for unsized content", () => {
  const accountOf = <Unit extends bigint>(credits: Unit): Account.Account<Unit> => ({
    id: Account.AccountId("a"),
    creditsPosted: credits,
    debitsPosted: 0n as Unit,
    debitsPending: 0n as Unit
  })
  const unsized = FastCheck.tuple(estimate, FastCheck.bigInt({ min: 0n, max: 10n ** 6n })).map(
    ([e, more]): Estimate => ({ ...e, unsizedInput: Tokens.Tokens(more) })
  )
  const isFree = (account: Account.Account<bigint> | undefined) => (account?.debitsPending ?? 0n) === 0n

  property("covers the estimate or sets aside everything available", [unsized, price, balances], (e, p, b) => {
    const held = Either.getOrUndefined(decideHold(e, p, b))
    if (held === undefined || coversEstimate(held.hold, e, p)) return true
    return isFree(b.plan) && isFree(b.payg) && paygAvailable(held) === 0n && planAvailable(held) === 0n
  })

  // Many tokens are possible but few are certain, so holds are often smaller than the estimate.
  const few = FastCheck.bigInt({ min: 0n, max: 50n })
  const rate = few.map(Price.PicoPerToken)
  const prices = FastCheck.record({ input: rate, cacheWrite: rate, cacheRead: rate, output: rate })

  const small = FastCheck.record({ unsizedInput: few, inputFloor: few, output: few }).map(
    ({ unsizedInput, inputFloor, output }): Estimate => ({
      inputFloor: Tokens.Tokens(inputFloor),
      inputCeiling: Tokens.Tokens(inputFloor * 2n),
      output: Tokens.Tokens(output),
      unsizedInput: Tokens.Tokens(unsizedInput * 10n)
    })
  )
  const steps = FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat(9), small, share, share), {
    maxLength: 60
  })

  it("is refused if nothing is available and the request can cost more", () => {
    const [free, one] = [Price.PicoPerToken(0n), Price.PicoPerToken(1n)]
    const p = { input: free, cacheWrite: one, cacheRead: free, output: free }
    const [floor, ceiling] = [Tokens.Tokens(1n), Tokens.Tokens(2n)]
    const e: Estimate = { inputFloor: floor, inputCeiling: ceiling, output: Tokens.zero, unsizedInput: Tokens.zero }
    const nothing = { plan: accountOf(Tokens.zero), payg: accountOf(UsdPico.zero) }
    expect(Either.isLeft(decideHold(e, p, nothing))).toBe(true)
    expect(Either.isRight(decideHold(e, { ...p, cacheWrite: free }, nothing))).toBe(true)
  })

  property("lets at most one open request exceed the balances", [prices, few, few, steps], (p, n, m, all) => {
    let now: Balances = {
      plan: accountOf(Tokens.Tokens(n * 10n)),
      payg: accountOf(UsdPico.UsdPico(m * 1_000n))
    }
    const open: Array<{ readonly hold: Hold; readonly e: Estimate }> = []
    return all.every(([begins, nth, e, thousandths, written]) => {
      if (begins) {
        const held = Either.getOrUndefined(decideHold(e, p, now))
        if (held === undefined) return true
        now = held
        open.push({ hold: held.hold, e })
        return open.filter((each) => !coversEstimate(each.hold, each.e, p)).length <= 1
      }
      const [ended] = open.splice(nth % Math.max(1, open.length), 1)
      if (ended === undefined) return true
      const most = ended.e.inputCeiling + (ended.e.unsizedInput ?? 0n)
      const charged = { ...promptOf((most * thousandths) / 1_000n, written, 0n), output: ended.e.output }
      const after = decideSettlement(ended.hold, { charged, consumed: charged, source: "upstream" }, p, now)
      now = after
      return after.settlement.writeoffPico === 0n || !coversEstimate(ended.hold, ended.e, p)
    })
  })
})

describe("a hold that grows", () => {
  const tokens = FastCheck.bigInt({ min: 0n, max: 100_000n }).map(Tokens.Tokens)
  const usage = FastCheck.record({ input: tokens, cacheWrite: tokens, cacheRead: tokens, output: tokens })
  const grown = (e: Estimate, p: Price.Price, b: Balances, u: TokenUsage.TokenUsage) =>
    Either.getOrUndefined(
      Either.map(decideHold(e, p, b), (first) => ({ first, extended: growHold(first.hold, u, p, first) }))
    )

  property("never becomes smaller", [estimate, price, balances, usage], (e, p, b, u) => {
    const holds = grown(e, p, b, u)
    if (holds === undefined) return true
    const { first, extended } = holds
    return extended.hold.planTokens >= first.hold.planTokens && extended.hold.paygPico >= first.hold.paygPico
  })

  property(
    "of a whole response grows in part only if it is the only hold",
    [estimate, price, balances, usage],
    (e, p, b, u) => {
      const holds = grown(e, p, b, u)
      if (holds === undefined) return true
      const { first, extended } = holds
      const { hold } = extendHold(first.hold, u, { price: p, streamed: false }, first)
      const isOnlyHold = [b.plan, b.payg].every((account) => (account?.debitsPending ?? 0n) === 0n)
      const isGrown = isOnlyHold || balancesCover(extended.hold, u, p)
      return isDeepStrictEqual(hold, isGrown ? extended.hold : first.hold)
    }
  )

  property("equals the amounts that the accounts set aside", [estimate, price, balances, usage], (e, p, b, u) => {
    const holds = grown(e, p, b, u)
    if (holds === undefined) return true
    const { hold, plan, payg } = holds.extended
    const planSetAside = plan === undefined ? 0n : plan.debitsPending - (b.plan?.debitsPending ?? 0n)
    const paygSetAside = payg === undefined ? 0n : payg.debitsPending - (b.payg?.debitsPending ?? 0n)
    return hold.planTokens === planSetAside && hold.paygPico === paygSetAside
  })

  property("leaves no balance below zero", [estimate, price, balances, usage], (e, p, b, u) => {
    const extended = grown(e, p, b, u)?.extended
    const isNotNegative = (account: Account.Account<bigint> | undefined) =>
      account === undefined || Account.available(account) >= 0n
    return extended === undefined || (isNotNegative(extended.plan) && isNotNegative(extended.payg))
  })

  property("covers the usage or sets aside everything available", [estimate, price, balances, usage], (e, p, b, u) => {
    const extended = grown(e, p, b, u)?.extended
    if (extended === undefined) return true
    const covered = coveredOutput(extended.hold, u, p)
    const isUsedUp = paygAvailable(extended) === 0n && planAvailable(extended) === 0n
    return (covered !== undefined && covered >= u.output) || isUsedUp
  })

  property(
    "covers a usage exactly if it covers the output of the usage",
    [estimate, price, balances, usage],
    (e, p, b, u) => {
      const first = grown(e, p, b, u)?.first
      if (first === undefined) return true
      const covered = coveredOutput(first.hold, u, p)
      return covers(first.hold, u, p) === (covered !== undefined && covered >= u.output)
    }
  )
})

describe("the output that a hold covers", () => {
  const tokens = FastCheck.bigInt({ min: 0n, max: 100_000n }).map(Tokens.Tokens)

  property(
    "is the largest output whose settlement writes nothing off",
    [estimate, price, balances, tokens],
    (e, p, b, input) => {
      const held = Either.getOrUndefined(decideHold(e, p, b))
      if (held === undefined) return true
      // Other requests have spent the rest of the balance, so the settlement can use only the hold.
      const spent = { plan: held.plan && spentUp(held.plan), payg: held.payg && spentUp(held.payg) }
      const writeOff = (output: bigint) => {
        const charged = TokenUsage.plain(input, Tokens.Tokens(output))
        return decideSettlement(held.hold, { charged, consumed: charged, source: "local" }, p, spent).settlement
          .writeoffPico
      }
      const covered = coveredOutput(held.hold, TokenUsage.plain(input, Tokens.zero), p)
      if (covered === undefined) return writeOff(0n) > 0n
      return writeOff(covered) === 0n && (covered === Tokens.MAX_PER_CLASS || writeOff(covered + 1n) > 0n)
    }
  )
})

const spentUp = <Unit extends bigint>(account: Account.Account<Unit>): Account.Account<Unit> =>
  Account.debit(account, Account.available(account))

describe("an ample balance", () => {
  property("is at least 100 times the hold of the request", [estimate, price, balances], (e, p, b) => {
    if (!isAmple(e, p, b)) return true
    let remaining: Balances = b
    for (let nth = 0; nth < 100; nth++) {
      const held = Either.getOrUndefined(decideHold(e, p, remaining))
      if (held === undefined || !coversEstimate(held.hold, e, p)) return false
      remaining = held
    }
    return true
  })

  it.each(["plan", "payg"] as const)("can be a balance of 100 times the hold: %s", (kind) => {
    const rate = Price.PicoPerToken(1n)
    const prices = { input: rate, cacheWrite: rate, cacheRead: rate, output: rate }
    const request = { inputFloor: Tokens.Tokens(1n), inputCeiling: Tokens.Tokens(10n), output: Tokens.Tokens(5n) }
    const isAmpleWith = (amount: bigint) => {
      const account = { id: Account.AccountId("a"), creditsPosted: amount, debitsPosted: 0n, debitsPending: 0n }
      return isAmple(request, prices, { plan: undefined, payg: undefined, [kind]: account })
    }
    expect([isAmpleWith(1_499n), isAmpleWith(1_500n)]).toEqual([false, true])
  })
})
