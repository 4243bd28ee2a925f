/**
 * Provides generators of random money amounts, token usage, prices, balances and estimates, as domain types.
 */

import { AccountId, type PaygAccount, type PlanAccount } from "@tollgate/domain/ledger/Account"
import type { Balances, Estimate } from "@tollgate/domain/ledger/Hold"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import type { TokenUsage } from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { FastCheck } from "effect"

export const tokens = (max = 1_000_000_000n) => FastCheck.bigInt({ min: 0n, max }).map((n) => Tokens.Tokens(n))
export const pico = (max = 10n ** 18n) => FastCheck.bigInt({ min: 0n, max }).map((n) => UsdPico(n))

export const usage: FastCheck.Arbitrary<TokenUsage> = FastCheck.record({
  input: tokens(),
  cacheWrite: tokens(),
  cacheRead: tokens(),
  output: tokens()
})

const perToken = FastCheck.bigInt({ min: 0n, max: 1_000_000_000n }).map((n) => PicoPerToken(n))
export const price: FastCheck.Arbitrary<Price> = FastCheck.record({
  input: perToken,
  cacheWrite: perToken,
  cacheRead: perToken,
  output: perToken
})

const parts = <A extends bigint>(amount: FastCheck.Arbitrary<A>) => FastCheck.tuple(amount, amount, amount)

/** Accounts whose debits and pending debits never exceed their credits. */
export const planAccount: FastCheck.Arbitrary<PlanAccount> = parts(tokens(10n ** 12n)).map(([free, used, held]) => ({
  id: AccountId("plan"),
  creditsPosted: Tokens.Tokens(free + used + held),
  debitsPosted: used,
  debitsPending: held
}))

export const paygAccount: FastCheck.Arbitrary<PaygAccount> = parts(pico()).map(([free, used, held]) => ({
  id: AccountId("payg"),
  creditsPosted: UsdPico(free + used + held),
  debitsPosted: used,
  debitsPending: held
}))

export const balances: FastCheck.Arbitrary<Balances> = FastCheck.record({
  plan: FastCheck.option(planAccount, { nil: undefined }),
  payg: FastCheck.option(paygAccount, { nil: undefined })
})

export const estimate: FastCheck.Arbitrary<Estimate> = FastCheck.tuple(
  tokens(10n ** 7n),
  tokens(10n ** 7n),
  // A request that generates nothing has zero output.
  FastCheck.oneof(FastCheck.constant(Tokens.zero), tokens(100_000n)),
  FastCheck.option(tokens(10n ** 6n), { nil: undefined }),
  FastCheck.option(tokens(10n ** 7n), { nil: undefined })
).map(([floor, more, output, unsizedInput, unusual]) => ({
  inputFloor: floor,
  inputCeiling: Tokens.Tokens(floor + more),
  output,
  ...(unsizedInput === undefined ? {} : { unsizedInput }),
  ...(unusual === undefined ? {} : { inputLimit: Tokens.Tokens(floor + more + unusual) })
}))
