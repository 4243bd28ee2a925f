/**
 * Decides an operator's credit to a pay-as-you-go balance. A credit is booked once for each operation id. All credits
 * of a customer together have a maximum.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { toUsdPico, UsdMicro } from "../money/UsdMicro.ts"
import { floorToUsdMicro, UsdPico } from "../money/UsdPico.ts"
import type { UserId } from "./User.ts"

/** The largest amount of one credit. A larger amount is probably a typing error. */
export const MAX_CREDIT = UsdMicro(1_000_000_000_000n)

/**
 * The maximum of a customer's credits: the sum of all amounts that were ever credited, also of the spent ones. An
 * account stores this sum, which never decreases, as a signed integer of 64 bits.
 */
export const MAX_TOTAL_CREDIT = UsdPico(2n ** 63n - 1n)

/** The customer's credits would exceed {@link MAX_TOTAL_CREDIT}. */
export class TotalCreditExceeded extends Schema.TaggedError<TotalCreditExceeded>()("TotalCreditExceeded", {
  /** The largest amount that can still be credited to the customer. */
  creditableUsdMicro: Schema.BigIntFromSelf
}) {}

/** The operation id was used for another user or another amount. */
export class CreditConflict extends Schema.TaggedError<CreditConflict>()("CreditConflict", {
  operationId: Schema.String
}) {}

/** The credit that is already booked under this operation id. */
export interface EarlierCredit {
  readonly userId: UserId
  readonly amountPico: bigint
}

export interface CreditDecision {
  /** The amount to book in pico-USD; undefined if the same operation is already booked. */
  readonly creditPico: UsdPico | undefined
}

/** Decides a credit. `creditsPosted` is the sum of the customer's credits so far. */
export const decideCredit = (
  request: { readonly userId: UserId; readonly amount: UsdMicro; readonly operationId: string },
  creditsPosted: UsdPico,
  earlier: EarlierCredit | undefined
): Either.Either<CreditDecision, CreditConflict | TotalCreditExceeded> => {
  const amountPico = toUsdPico(request.amount)
  if (earlier !== undefined) {
    return earlier.userId === request.userId && earlier.amountPico === amountPico
      ? Either.right({ creditPico: undefined })
      : Either.left(new CreditConflict({ operationId: request.operationId }))
  }
  const creditable = UsdPico(MAX_TOTAL_CREDIT - creditsPosted)
  return amountPico > creditable
    ? Either.left(new TotalCreditExceeded({ creditableUsdMicro: BigInt(floorToUsdMicro(creditable)) }))
    : Either.right({ creditPico: amountPico })
}
