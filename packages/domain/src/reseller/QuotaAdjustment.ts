/**
 * Decides an operator's increase or decrease of a reseller's quota. An adjustment is booked once per operation id. The
 * quota never becomes negative.
 */
import * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Account from "../ledger/Account.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import { UsdMicro } from "../money/UsdMicro.ts"
import type { OperationId } from "../operations/Operation.ts"
import type { ResellerId } from "./Reseller.ts"

/** The quota does not cover the amount. */
export class InsufficientQuota extends Schema.TaggedError<InsufficientQuota>()("InsufficientQuota", {
  balanceUsdMicro: Schema.BigIntFromSelf,
  neededUsdMicro: Schema.BigIntFromSelf
}) {}

/**
 * The change in micro-USD: a positive change adds quota, a negative change removes quota. Its absolute value is 1 to
 * 10^15.
 */
export type QuotaChange = bigint & Brand.Brand<"QuotaChange">
const MAX_CHANGE = 10n ** 15n
export const QuotaChange = Brand.refined<QuotaChange>(
  (n) => n !== 0n && n >= -MAX_CHANGE && n <= MAX_CHANGE,
  (n) => Brand.error(`a quota change must be from -${MAX_CHANGE} to ${MAX_CHANGE} micro-USD and not 0, got ${n}`)
)

/** The operation id was used for another reseller or another amount. */
export class AdjustmentConflict extends Schema.TaggedError<AdjustmentConflict>()("AdjustmentConflict", {
  operationId: Schema.String
}) {}

export interface QuotaAdjustment {
  readonly resellerId: ResellerId
  readonly change: QuotaChange
  readonly operationId: OperationId
}

/** The adjustment that is already booked under this operation id. */
export interface EarlierAdjustment {
  readonly resellerId: ResellerId
  readonly change: bigint
}

export interface Adjusted {
  readonly quota: Account.QuotaAccount
  /** The transfer to book; undefined if the same operation is already booked. */
  readonly booking: Booking | undefined
}

export const decideAdjustment = (
  { resellerId, change, operationId }: QuotaAdjustment,
  quota: Account.QuotaAccount,
  earlier: EarlierAdjustment | undefined
): Either.Either<Adjusted, AdjustmentConflict | InsufficientQuota> => {
  if (earlier !== undefined) {
    return earlier.resellerId === resellerId && earlier.change === change
      ? Either.right({ quota, booking: undefined })
      : Either.left(new AdjustmentConflict({ operationId }))
  }
  const amount = UsdMicro(change < 0n ? -change : change)
  const booking = { code: "quota_adjust", ref: operationId, unit: "usd_micro", amount } as const
  if (change > 0n) {
    return Either.right({
      quota: Account.credit(quota, amount),
      booking: { ...booking, debit: systemAccounts.externalPayments, credit: quota.id }
    })
  }
  const balanceUsdMicro = Account.available(quota)
  return balanceUsdMicro < amount
    ? Either.left(new InsufficientQuota({ balanceUsdMicro, neededUsdMicro: amount }))
    : Either.right({
        quota: Account.debit(quota, amount),
        booking: { ...booking, debit: quota.id, credit: systemAccounts.externalPayments }
      })
}
