/**
 * Declares the port with which operators credit pay-as-you-go balances.
 */
import type { CreditConflict, TotalCreditExceeded } from "@tollgate/domain/customer/PaygCredit"
import type { UserId, UserNotFound } from "@tollgate/domain/customer/User"
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { OperationId, Operator } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface CreditedPayg {
  readonly userId: UserId
  readonly amountUsdMicro: UsdMicro
  readonly balancePico: UsdPico
  /** True if an earlier call with the operation id booked the credit, so that this call changed nothing. */
  readonly alreadyApplied: boolean
}

export class PaygAccounts extends Context.Tag("@tollgate/application/PaygAccounts")<
  PaygAccounts,
  {
    /**
     * Credits a user once per operation id. Fails if the user does not exist, if the id was used for another user or
     * another amount, or if all credits of the user together would exceed their maximum.
     */
    readonly credit: (credit: {
      readonly email: Email
      readonly amount: UsdMicro
      readonly operationId: OperationId
      readonly operator: Operator
    }) => Effect.Effect<CreditedPayg, UserNotFound | CreditConflict | TotalCreditExceeded>
  }
>() {}
