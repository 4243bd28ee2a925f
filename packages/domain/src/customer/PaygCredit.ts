/**
 * Decides an operator's credit to a pay-as-you-go balance. A credit is booked once for each operation id.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { toUsdPico, UsdMicro } from "../money/UsdMicro.ts"
import type { UsdPico } from "../money/UsdPico.ts"
import type { UserId } from "./User.ts"

/** The largest amount of one credit. A larger amount is probably a typing error. */
export const MAX_CREDIT = UsdMicro(1_000_000_000_000n)

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

export const decideCredit = (
  request: { readonly userId: UserId; readonly amount: UsdMicro; readonly operationId: string },
  earlier: EarlierCredit | undefined
): Either.Either<CreditDecision, CreditConflict> => {
  const amountPico = toUsdPico(request.amount)
  if (earlier === undefined) return Either.right({ creditPico: amountPico })
  return earlier.userId === request.userId && earlier.amountPico === amountPico
    ? Either.right({ creditPico: undefined })
    : Either.left(new CreditConflict({ operationId: request.operationId }))
}
