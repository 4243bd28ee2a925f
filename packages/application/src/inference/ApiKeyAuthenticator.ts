/**
 * Authenticates API keys, from a cache or from the database.
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
     * Returns the principal: the id of the presented key, its expiry and its allowed models, and the id of its
     * customer. The result may come from a short-lived cache, so the admission checks again whether the key is revoked.
     * If the database is unreachable, a well-formed key that is not cached fails with {@link Overloaded}, not with
     * {@link InvalidApiKey}.
     */
    readonly authenticate: (
      presented: Redacted.Redacted<string>
    ) => Effect.Effect<Principal, InvalidApiKey | Overloaded>
    /**
     * Authenticates the key without the database. Returns undefined if the key is not cached. Refuses a key that is too
     * long to be valid.
     */
    readonly recall: (presented: Redacted.Redacted<string>) => Either.Either<Principal, InvalidApiKey> | undefined
  }
>() {}
