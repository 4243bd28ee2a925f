/**
 * Creates and revokes the API keys of users. An operator manages the keys of every user. A reseller manages the keys of
 * its customers (docs/reference/reseller.md#cust-3).
 */
import { type ApiKey, ApiKeyId, type ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import {
  changeLimits,
  type KeyLimits,
  type KeyLimitsChange,
  noLimits,
  type UnknownModels
} from "@tollgate/domain/customer/KeyLimits"
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
import { unknownModels } from "./KeyLimits.ts"

export interface CreatedKey {
  readonly key: ApiKey
  /** The whole API key. Its secret part is stored only as a hash, so the key cannot be returned again. */
  readonly secret: Redacted.Redacted<string>
}

/** The store of API keys, for operators. */
export class ApiKeys extends Context.Tag("@tollgate/application/ApiKeys")<
  ApiKeys,
  {
    readonly create: (
      email: Email,
      name: string,
      operator: Operator,
      limits?: KeyLimits
    ) => Effect.Effect<CreatedKey, UserNotFound | UnknownModels>
    /** Returns all keys of a user, including revoked ones, newest first. */
    readonly list: (email: Email) => Effect.Effect<ReadonlyArray<ApiKey>, UserNotFound>
    /**
     * Revokes a key. Every node is notified and then refuses the key. A node that misses the notification refuses the
     * key after at most 30 seconds. A repeated call returns the key unchanged.
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
     * Creates a key with its limits and writes an audit log entry, in one transaction. Fails if the user is not this
     * reseller's customer.
     */
    readonly create: (
      resellerId: ResellerId,
      userId: UserId,
      name: string,
      limits?: KeyLimits
    ) => Effect.Effect<CreatedKey, NotFound | UnknownModels>
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
export const createCustomerKey = (resellerId: ResellerId, userId: string, name: string, limits: KeyLimitsChange = {}) =>
  Effect.gen(function* () {
    const id = readUserId(userId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "customer" })
    const created = (yield* CustomerKeys).create(resellerId, id.value, name, changeLimits(noLimits, limits))
    return yield* Effect.catchTag(created, "UnknownModels", unknownModels)
  })

/** Revokes an API key of a customer (`DELETE /api/reseller/keys/{keyID}`). */
export const revokeCustomerKey = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "key" })
    return yield* (yield* CustomerKeys).revoke(resellerId, id.value)
  })
