/**
 * The API keys of users.
 */

import type { ApiKey, ApiKeyId, ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import type { UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

export interface CreatedKey {
  readonly key: ApiKey
  /** The whole key; cannot be had again. */
  readonly secret: Redacted.Redacted<string>
}

export class ApiKeys extends Context.Tag("@tollgate/application/ApiKeys")<
  ApiKeys,
  {
    readonly create: (email: Email, name: string, operator: Operator) => Effect.Effect<CreatedKey, UserNotFound>
    /** All keys of a user, newest first, revoked ones too. */
    readonly list: (email: Email) => Effect.Effect<ReadonlyArray<ApiKey>, UserNotFound>
    /** Ends a key on every node at the next request. Again: the key as it is. */
    readonly revoke: (id: ApiKeyId, operator: Operator) => Effect.Effect<ApiKey, ApiKeyNotFound>
  }
>() {}
