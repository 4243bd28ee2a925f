/**
 * A ledger account: the sums of its credits, its debits, and the amounts that open holds reserve.
 *
 *     available = credits posted - debits posted - debits pending >= 0
 *
 * Credits and debits posted never decrease. A plan is in tokens (credits are `purchased_tokens`, debits are `used_tokens`), a
 * pay-as-you-go account is in pico-USD, and a reseller's quota is in micro-USD.
 */
import * as Brand from "effect/Brand"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"
import type { UsdPico } from "../money/UsdPico.ts"

export type AccountId = string & Brand.Brand<"AccountId">
export const AccountId = Brand.nominal<AccountId>()

export interface Account<Unit extends bigint> {
  readonly id: AccountId
  readonly creditsPosted: Unit
  readonly debitsPosted: Unit
  readonly debitsPending: Unit
}

export type PlanAccount = Account<Tokens>
export type PaygAccount = Account<UsdPico>
export type QuotaAccount = Account<UsdMicro>

/** Returns the amount that a new hold may reserve. */
export const available = <Unit extends bigint>({ creditsPosted, debitsPosted, debitsPending }: Account<Unit>): Unit =>
  minus(minus(creditsPosted, debitsPosted), debitsPending)

/** Returns the balance that a customer sees, from which open holds are not subtracted. */
export const remaining = <Unit extends bigint>({ creditsPosted, debitsPosted }: Account<Unit>): Unit =>
  minus(creditsPosted, debitsPosted)

// `reserve` and `post` run for every request: they list all members because object spread is slower.

/** Adds an amount to the open holds. */
export const reserve = <Unit extends bigint>(account: Account<Unit>, amount: Unit): Account<Unit> => ({
  id: account.id,
  creditsPosted: account.creditsPosted,
  debitsPosted: account.debitsPosted,
  debitsPending: plus(account.debitsPending, amount)
})

/** Releases the held amount and debits the used amount. */
export const post = <Unit extends bigint>(account: Account<Unit>, held: Unit, used: Unit): Account<Unit> => ({
  id: account.id,
  creditsPosted: account.creditsPosted,
  debitsPosted: plus(account.debitsPosted, used),
  debitsPending: minus(account.debitsPending, held)
})

export const credit = <Unit extends bigint>(account: Account<Unit>, amount: Unit): Account<Unit> => ({
  ...account,
  creditsPosted: plus(account.creditsPosted, amount)
})

/** Debits an amount. The caller checks before that the amount is available. */
export const debit = <Unit extends bigint>(account: Account<Unit>, amount: Unit): Account<Unit> => ({
  ...account,
  debitsPosted: plus(account.debitsPosted, amount)
})

// The casts are safe: sums and differences of one unit have the same unit, which the compiler cannot infer for `Unit`.
const plus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a + b) as Unit
const minus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a - b) as Unit
