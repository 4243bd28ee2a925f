/**
 * What a user has left, out of the rows of its accounts.
 */
import { type CustomerBalances, tokenPlan } from "@tollgate/domain/customer/Customer"
import { remaining } from "@tollgate/domain/ledger/Account"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico, zero } from "@tollgate/domain/money/UsdPico"
import { type AccountRow, toAccount } from "../ledger/AccountRows.ts"

export interface BalanceRow extends AccountRow {
  /** Of a plan; a pay-as-you-go account has none. */
  readonly public_name: string | null
}

/** The plans in the order of the rows. */
export const toBalances = (rows: ReadonlyArray<BalanceRow>): CustomerBalances => {
  const payg = rows.find((row) => row.public_name === null)
  return {
    paygPico: payg === undefined ? zero : remaining(toAccount(payg, UsdPico)),
    plans: rows.flatMap((row) => (row.public_name === null ? [] : [tokenPlan(row.public_name, toAccount(row, Tokens))]))
  }
}
