/**
 * Returns the remaining balances of a customer to its resellers and to the customer itself.
 */
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { CustomerBalances } from "@tollgate/domain/customer/Customer"
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export interface BalancesStatement {
  readonly userId: UserId
  /** The pay-as-you-go balance, and the plans by public model name. */
  readonly balances: CustomerBalances
  /** The database time at which the balances were read. */
  readonly asOf: Date
}

export class Balances extends Context.Tag("@tollgate/application/Balances")<
  Balances,
  {
    /** Checks that the user is a customer of the reseller, and reads the balances in the same database snapshot. */
    readonly ofCustomer: (resellerId: ResellerId, userId: UserId) => Effect.Effect<BalancesStatement, NotFound>
    /** Does the same as `ofCustomer` for the owner of an API key. The key may be revoked. */
    readonly ofKeyOwner: (resellerId: ResellerId, keyId: ApiKeyId) => Effect.Effect<BalancesStatement, NotFound>
    /** Reads the balances of a customer that has authenticated itself with an API key. */
    readonly own: (userId: UserId) => Effect.Effect<BalancesStatement>
  }
>() {}

const readUserId = Schema.decodeOption(UserId)
const readKeyId = Schema.decodeOption(ApiKeyId)

/** Returns the balances of a customer (`GET /api/reseller/customers/{userID}/balances`). */
export const customerBalances = (resellerId: ResellerId, userId: string) =>
  Effect.gen(function* () {
    const id = readUserId(userId)
    if (Option.isNone(id)) return yield* invalid("userID", "a UUID")
    return yield* (yield* Balances).ofCustomer(resellerId, id.value)
  })

/** Returns the balances of a key's owner. The key may be revoked (docs/reference/balances-and-usage.md#bal-1). */
export const keyBalances = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId.toLowerCase())
    if (Option.isNone(id)) return yield* invalid("keyID", "a UUID")
    const statement = yield* (yield* Balances).ofKeyOwner(resellerId, id.value)
    return { keyId: id.value, ...statement }
  })
