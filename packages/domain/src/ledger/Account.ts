/**
 * A ledger account has three columns: the sum of its credits, the sum of its debits, and the sum that open holds set
 * aside.
 *
 *     available = credits posted - debits posted - debits pending >= 0
 *
 * Credits posted and debits posted never decrease. The unit is the token in a token plan, pico-USD in a pay-as-you-go
 * account and micro-USD in a reseller's quota. The API names the credits of a plan `purchased_tokens` and the debits
 * `used_tokens`.
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

/** Returns the amount that a new hold can set aside. */
export const available = <Unit extends bigint>({ creditsPosted, debitsPosted, debitsPending }: Account<Unit>): Unit =>
  minus(minus(creditsPosted, debitsPosted), debitsPending)

/** Returns the balance that the owner of the account sees. It includes the amounts that open holds set aside. */
export const remaining = <Unit extends bigint>({ creditsPosted, debitsPosted }: Account<Unit>): Unit =>
  minus(creditsPosted, debitsPosted)

// `reserve` and `post` run for every request. They list all members, because an object spread is slower.

/** Sets aside an amount for a new or growing hold. */
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

/** Debits an amount. The caller has checked that the amount is available. */
export const debit = <Unit extends bigint>(account: Account<Unit>, amount: Unit): Account<Unit> => ({
  ...account,
  debitsPosted: plus(account.debitsPosted, amount)
})

// The casts are safe: two amounts in one unit have a sum and a difference in that unit. The compiler cannot infer this.
const plus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a + b) as Unit
const minus = <Unit extends bigint>(a: bigint, b: bigint): Unit => (a - b) as Unit
