/**
 * Passwords as they are stored: slow to guess, and never to be read back.
 */
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/** With its algorithm and parameters inside, as PHC text. */
export type PasswordHash = Redacted.Redacted<string> & Brand.Brand<"PasswordHash">
export const PasswordHash = Brand.nominal<PasswordHash>()

export class PasswordHasher extends Context.Tag("@tollgate/application/PasswordHasher")<
  PasswordHasher,
  {
    /** Few run at a time and few wait; {@link RateLimited} when more are asked for. */
    readonly hash: (password: Redacted.Redacted<string>) => Effect.Effect<PasswordHash, RateLimited>
    /** Whether this is the password. Where there is no hash the answer is no, at the same cost. */
    readonly verify: (
      password: Redacted.Redacted<string>,
      hash: PasswordHash | undefined
    ) => Effect.Effect<boolean, RateLimited>
  }
>() {}
