/**
 * A transfer is one booking of an amount from one account to another. It records an operation, such as a top-up, a mint
 * or a credit by an operator.
 *
 * One row contains both accounts, one amount and one unit, so an unbalanced transfer cannot be stored. An operation has
 * at most one transfer per code. A settlement is not a transfer.
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
  /** The id of the operation, such as the id of an order or of a mint. It is unique together with the code. */
  readonly ref: string
  readonly unit: LedgerUnit
  readonly debit: AccountId
  readonly credit: AccountId
  readonly amount: bigint
}

/** A transfer before it is stored. The id is assigned when the row is written. */
export type Booking = Omit<Transfer, "id">

/**
 * The accounts whose balance is not stored. Each account is one side of the transfers that bring value into the ledger
 * or take value out of it. The balance of such an account is the sum of its transfers. If it were stored, every
 * transfer would have to lock it.
 */
export const systemAccounts = {
  externalPayments: "00000000-0000-0000-0000-000000000001" as AccountId,
  planRevenue: "00000000-0000-0000-0000-000000000002" as AccountId,
  tokenIssuance: "00000000-0000-0000-0000-000000000003" as AccountId,
  paygFunding: "00000000-0000-0000-0000-000000000004" as AccountId
} as const
