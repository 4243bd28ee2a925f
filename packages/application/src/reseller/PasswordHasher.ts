/**
 * Hashes passwords. The hash function is deliberately slow, so that an attacker with a stolen hash needs long to guess
 * the password.
 */
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/** A password hash in PHC string format, which names the algorithm and its parameters. */
export type PasswordHash = Redacted.Redacted<string> & Brand.Brand<"PasswordHash">
export const PasswordHash = Brand.nominal<PasswordHash>()

export class PasswordHasher extends Context.Tag("@tollgate/application/PasswordHasher")<
  PasswordHasher,
  {
    /** Hashes a password. Fails with {@link RateLimited} if too many hashes are running or waiting. */
    readonly hash: (password: Redacted.Redacted<string>) => Effect.Effect<PasswordHash, RateLimited>
    /** Returns true if the password matches the hash. Without a hash, returns false after the same computing time. */
    readonly verify: (
      password: Redacted.Redacted<string>,
      hash: PasswordHash | undefined
    ) => Effect.Effect<boolean, RateLimited>
  }
>() {}
