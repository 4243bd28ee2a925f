/**
 * Pay-as-you-go balances, which operators credit.
 */
import type { CreditConflict } from "@tollgate/domain/customer/PaygCredit"
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
  /** True if an earlier call applied the operation, so that this call changed nothing. */
  readonly alreadyApplied: boolean
}

export class PaygAccounts extends Context.Tag("@tollgate/application/PaygAccounts")<
  PaygAccounts,
  {
    /** Credits a user once per operation id. The same id with another user or amount is a conflict. */
    readonly credit: (credit: {
      readonly email: Email
      readonly amount: UsdMicro
      readonly operationId: OperationId
      readonly operator: Operator
    }) => Effect.Effect<CreditedPayg, UserNotFound | CreditConflict>
  }
>() {}
