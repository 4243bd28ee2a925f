/**
 * Reads and changes the limits of API keys. An operator can change the limits of every key. A reseller can change the
 * limits of the keys of its customers (docs/reference/key-limits.md).
 */
import { type ApiKey, ApiKeyId, ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { type KeyLimitsChange, replacementOf, type UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import type { KeyCounts } from "@tollgate/domain/ledger/KeyCounts"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A key with its limits. A limited key also has its current counts. */
export interface KeyStatus {
  readonly key: ApiKey
  readonly counts: KeyCounts | undefined
}

export class KeyLimitStore extends Context.Tag("@tollgate/application/KeyLimitStore")<
  KeyLimitStore,
  {
    readonly read: (keyId: ApiKeyId) => Effect.Effect<KeyStatus, ApiKeyNotFound>
    /**
     * Changes the limits of a key and writes an audit log entry, in one transaction. Every node is notified, as after a
     * revocation. The ledger applies new budgets, rates and limits of concurrent requests from the next admission on,
     * and new budgets also from the next extension on. A node applies a new expiry and new allowed models when it is
     * notified.
     */
    readonly change: (
      keyId: ApiKeyId,
      change: KeyLimitsChange,
      operator: Operator
    ) => Effect.Effect<KeyStatus, ApiKeyNotFound | UnknownModels>
    /** Changes the limits of a key, as `change` does. The key must belong to a customer of this reseller. */
    readonly changeOfCustomer: (
      resellerId: ResellerId,
      keyId: ApiKeyId,
      change: KeyLimitsChange
    ) => Effect.Effect<KeyStatus, NotFound | UnknownModels>
  }
>() {}

const readKeyId = Schema.decodeOption(ApiKeyId)

/** Fails with a validation error of the request member `limits.models`. */
export const unknownModels = ({ models }: UnknownModels) =>
  Effect.fail(invalid("limits.models", `public names of models of the catalog; unknown: ${models.join(", ")}`))

/** Changes the limits of an API key of a customer (`PATCH /api/reseller/keys/{keyID}`). */
export const changeCustomerKey = (resellerId: ResellerId, keyId: string, change: KeyLimitsChange) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "key" })
    const store = yield* KeyLimitStore
    return yield* Effect.catchTag(store.changeOfCustomer(resellerId, id.value, change), "UnknownModels", unknownModels)
  })

/** Returns an API key with its limits and counts, for an operator. */
export const readKeyStatus = (keyId: string) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new ApiKeyNotFound({ keyId })
    return yield* (yield* KeyLimitStore).read(id.value)
  })

/** Sets all limits of an API key for an operator (`PUT /api/operator/keys/{keyID}/limits`). */
export const setKeyLimits = (keyId: string, limits: KeyLimitsChange, operator: Operator) =>
  Effect.gen(function* () {
    const id = readKeyId(keyId)
    if (Option.isNone(id)) return yield* new ApiKeyNotFound({ keyId })
    const store = yield* KeyLimitStore
    return yield* Effect.catchTag(
      store.change(id.value, replacementOf(limits), operator),
      "UnknownModels",
      unknownModels
    )
  })
