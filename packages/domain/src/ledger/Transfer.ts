/**
 * A rare movement of value (a top-up, a mint, a credit by an operator): one amount from one account to another.
 *
 * Both sides stand in one row with one amount in one unit, so an unbalanced movement cannot be written down, and
 * a business event has at most one transfer of each code. Requests are not transfers: their journal is the
 * settlements.
 */
import * as Brand from "effect/Brand"
import type { AccountId } from "./Account.ts"

export type TransferCode = "topup" | "mint_pay" | "mint_grant" | "payg_credit" | "quota_adjust" | "image_charge"
export type LedgerUnit = "usd_micro" | "usd_pico" | "token"

export type TransferId = string & Brand.Brand<"TransferId">
export const TransferId = Brand.nominal<TransferId>()

export interface Transfer {
  readonly id: TransferId
  readonly code: TransferCode
  /** The business event: with the code, unique. */
  readonly ref: string
  readonly unit: LedgerUnit
  readonly debit: AccountId
  readonly credit: AccountId
  readonly amount: bigint
}

/** A transfer as it is decided: its row gets its id when it is written. */
export type Booking = Omit<Transfer, "id">

/**
 * The accounts outside: where value comes from and goes to. No balance of theirs is stored (it is the sum of the
 * journal), so no row is touched by every request.
 */
export const systemAccounts = {
  externalPayments: "00000000-0000-0000-0000-000000000001" as AccountId,
  planRevenue: "00000000-0000-0000-0000-000000000002" as AccountId,
  tokenIssuance: "00000000-0000-0000-0000-000000000003" as AccountId,
  paygFunding: "00000000-0000-0000-0000-000000000004" as AccountId
} as const
