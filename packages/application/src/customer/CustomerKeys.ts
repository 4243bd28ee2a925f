/**
 * API keys that a reseller makes for its customers.
 */
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { CreatedKey } from "./ApiKeys.ts"

export interface RevokedKey {
  readonly keyId: ApiKeyId
  readonly revokedAt: Date
}

export class CustomerKeys extends Context.Tag("@tollgate/application/CustomerKeys")<
  CustomerKeys,
  {
    /** Makes a key when the user is a customer of this reseller, in one transaction with that check and its audit entry. */
    readonly create: (resellerId: ResellerId, userId: UserId, name: string) => Effect.Effect<CreatedKey, NotFound>
    /**
     * Ends a key of a customer of this reseller on every node at the next request, in one transaction with its audit
     * entry. Again: the first `revokedAt`, and no entry.
     */
    readonly revoke: (resellerId: ResellerId, keyId: ApiKeyId) => Effect.Effect<RevokedKey, NotFound>
  }
>() {}
