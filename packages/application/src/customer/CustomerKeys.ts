/**
 * API keys that a reseller creates and revokes for its customers (docs/reference/reseller.md#cust-3).
 */
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { CreatedKey } from "./ApiKeys.ts"

export interface RevokedKey {
  readonly keyId: ApiKeyId
  readonly revokedAt: Date
}

export class CustomerKeys extends Context.Tag("@tollgate/application/CustomerKeys")<
  CustomerKeys,
  {
    /** Creates a key if the user is a customer of this reseller. Check, key and audit log entry are one transaction. */
    readonly create: (resellerId: ResellerId, userId: UserId, name: string) => Effect.Effect<CreatedKey, NotFound>
    /**
     * Revokes a key of a customer of this reseller, in one transaction with its audit log entry. Every node refuses it
     * from the next request on. A repeated call returns the first `revokedAt` and writes no entry.
     */
    readonly revoke: (resellerId: ResellerId, keyId: ApiKeyId) => Effect.Effect<RevokedKey, NotFound>
  }
>() {}

const readUserId = Schema.decodeOption(UserId)
const readKeyId = Schema.decodeOption(ApiKeyId)

/** The secret is returned by this call only. */
export const createCustomerKey = (resellerId: ResellerId, userId: string, name: string) =>
  Effect.gen(function* () {
    const id = readUserId(userId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "customer" })
    return yield* (yield* CustomerKeys).create(resellerId, id.value, name)
  })

/** Spec: DELETE /api/reseller/keys/{keyID}. */
export const revokeCustomerKey = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "key" })
    return yield* (yield* CustomerKeys).revoke(resellerId, id.value)
  })
