/**
 * What customers have left, as their reseller reads it.
 */
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { CustomerBalances } from "@tollgate/domain/customer/Customer"
import type { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface BalancesStatement {
  readonly userId: UserId
  /** Plans by public model name. */
  readonly balances: CustomerBalances
  /** The database's clock at the snapshot the balances were read from. */
  readonly asOf: Date
}

export class Balances extends Context.Tag("@tollgate/application/Balances")<
  Balances,
  {
    /** Link and balances in one snapshot. */
    readonly ofCustomer: (resellerId: ResellerId, userId: UserId) => Effect.Effect<BalancesStatement, NotFound>
    /** The same for the owner of a key, revoked or not. */
    readonly ofKeyOwner: (resellerId: ResellerId, keyId: ApiKeyId) => Effect.Effect<BalancesStatement, NotFound>
  }
>() {}
