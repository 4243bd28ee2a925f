/**
 * Authenticates API keys on the hot path: from a cache, or by the database.
 */
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"

export class ApiKeyAuthenticator extends Context.Tag("@tollgate/application/ApiKeyAuthenticator")<
  ApiKeyAuthenticator,
  {
    /**
     * The principal of a presented key. May use a short cache, so a revocation is certain only at admission. When the
     * database is unreachable, keys that are not cached are {@link Overloaded}, never unknown.
     */
    readonly authenticate: (
      presented: Redacted.Redacted<string>
    ) => Effect.Effect<Principal, InvalidApiKey | Overloaded>
    /** The same without the database; undefined when the cache does not have the key. */
    readonly recall: (presented: Redacted.Redacted<string>) => Either.Either<Principal, InvalidApiKey> | undefined
  }
>() {}
