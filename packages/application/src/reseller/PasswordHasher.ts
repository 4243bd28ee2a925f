/**
 * The hashing of passwords: slow on purpose, so that a stolen hash is expensive to guess.
 */
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/** A PHC string, which contains the algorithm and its parameters. */
export type PasswordHash = Redacted.Redacted<string> & Brand.Brand<"PasswordHash">
export const PasswordHash = Brand.nominal<PasswordHash>()

export class PasswordHasher extends Context.Tag("@tollgate/application/PasswordHasher")<
  PasswordHasher,
  {
    /** The number of running and waiting hashes is limited; above it the result is {@link RateLimited}. */
    readonly hash: (password: Redacted.Redacted<string>) => Effect.Effect<PasswordHash, RateLimited>
    /** Whether the password is right. Without a hash the result is false, at the same cost. */
    readonly verify: (
      password: Redacted.Redacted<string>,
      hash: PasswordHash | undefined
    ) => Effect.Effect<boolean, RateLimited>
  }
>() {}
