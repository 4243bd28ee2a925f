/**
 * A balance of the ledger: all credits, all debits, and the amounts that open holds reserve.
 *
 *     available = credits posted - debits posted - debits pending >= 0
 *
 * Credits and debits only grow. A plan counts tokens (credits are `purchased_tokens`, debits `used_tokens`), a
 * pay-as-you-go account counts pico-USD, a reseller's quota micro-USD.
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

/** The amount that a new hold may reserve. */
export const available = <Unit extends bigint>({ creditsPosted, debitsPosted, debitsPending }: Account<Unit>): Unit =>
  minus(minus(creditsPosted, debitsPosted), debitsPending)

/** The balance a customer sees: open holds are not subtracted. */
export const remaining = <Unit extends bigint>({ creditsPosted, debitsPosted }: Account<Unit>): Unit =>
  minus(creditsPosted, debitsPosted)

// Written out where a spread would be shorter: `reserve` and `post` run in every request, and a spread is slow.

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

/** The caller checks first that the amount is available. */
export const debit = <Unit extends bigint>(account: Account<Unit>, amount: Unit): Account<Unit> => ({
  ...account,
  debitsPosted: plus(account.debitsPosted, amount)
})

// Sums and differences of one unit stay in that unit, which the compiler cannot see for a type parameter.
const plus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a + b) as Unit
const minus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a - b) as Unit
