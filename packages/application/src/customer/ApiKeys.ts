/**
 * Creates and revokes the API keys of users. An operator manages the keys of every user. A reseller manages the keys of
 * its customers (docs/reference/reseller.md#cust-3).
 */
import { type ApiKey, ApiKeyId, type ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { UserId, type UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

export interface CreatedKey {
  readonly key: ApiKey
  /** The whole API key. Only a hash is stored, so the key cannot be returned again. */
  readonly secret: Redacted.Redacted<string>
}

/** The store of API keys, for operators. */
export class ApiKeys extends Context.Tag("@tollgate/application/ApiKeys")<
  ApiKeys,
  {
    readonly create: (email: Email, name: string, operator: Operator) => Effect.Effect<CreatedKey, UserNotFound>
    /** Returns all keys of a user, including revoked ones, newest first. */
    readonly list: (email: Email) => Effect.Effect<ReadonlyArray<ApiKey>, UserNotFound>
    /**
     * Revokes a key. Every node is notified and then refuses the key; a node that misses the notification refuses it
     * within 30 seconds. A repeated call returns the key unchanged.
     */
    readonly revoke: (id: ApiKeyId, operator: Operator) => Effect.Effect<ApiKey, ApiKeyNotFound>
  }
>() {}

export interface RevokedKey {
  readonly keyId: ApiKeyId
  readonly revokedAt: Date
}

/** The store of API keys, for resellers. */
export class CustomerKeys extends Context.Tag("@tollgate/application/CustomerKeys")<
  CustomerKeys,
  {
    /**
     * Creates a key and writes an audit log entry, in one transaction. Fails if the user is not this reseller's
     * customer.
     */
    readonly create: (resellerId: ResellerId, userId: UserId, name: string) => Effect.Effect<CreatedKey, NotFound>
    /**
     * Revokes a key of a customer of this reseller and writes an audit log entry, in one transaction. Every node is
     * notified and then refuses the key, as after `ApiKeys.revoke`. A repeated call returns the first `revokedAt` and
     * writes no entry.
     */
    readonly revoke: (resellerId: ResellerId, keyId: ApiKeyId) => Effect.Effect<RevokedKey, NotFound>
  }
>() {}

const readUserId = Schema.decodeOption(UserId)
const readKeyId = Schema.decodeOption(ApiKeyId)

/** Creates an API key for a customer. Only this call returns the secret. */
export const createCustomerKey = (resellerId: ResellerId, userId: string, name: string) =>
  Effect.gen(function* () {
    const id = readUserId(userId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "customer" })
    return yield* (yield* CustomerKeys).create(resellerId, id.value, name)
  })

/** Revokes an API key of a customer (`DELETE /api/reseller/keys/{keyID}`). */
export const revokeCustomerKey = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "key" })
    return yield* (yield* CustomerKeys).revoke(resellerId, id.value)
  })
