/**
 * Whose key this is, at the speed of the hot path.
 */

import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"

export interface Principal {
  readonly keyId: ApiKeyId
  readonly userId: UserId
}

export class ApiKeyAuthenticator extends Context.Tag("@tollgate/application/ApiKeyAuthenticator")<
  ApiKeyAuthenticator,
  {
    /**
     * The principal of a presented key. May answer from a short memory, so a revocation is only certain where money
     * is: at admission. With the database away, keys not in memory are {@link Overloaded}, never unknown.
     */
    readonly authenticate: (
      presented: Redacted.Redacted<string>
    ) => Effect.Effect<Principal, InvalidApiKey | Overloaded>
    /** The same, at once, where no look at the database is needed. */
    readonly recall: (presented: Redacted.Redacted<string>) => Either.Either<Principal, InvalidApiKey> | undefined
  }
>() {}
