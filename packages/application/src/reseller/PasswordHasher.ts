/**
 * Hashes passwords. The hash function is deliberately slow, so that an attacker with a stolen hash needs a long time to
 * guess the password.
 */
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"

/** A password hash in PHC string format, which names the algorithm and its parameters. */
export type PasswordHash = Redacted.Redacted<string> & Brand.Brand<"PasswordHash">
export const PasswordHash = Brand.nominal<PasswordHash>()

/**
 * Signups wait in one queue, logins and changes of passwords in another, so that signups never take places of logins.
 */
export type HashingQueue = "login" | "signup"

export class PasswordHasher extends Context.Tag("@tollgate/application/PasswordHasher")<
  PasswordHasher,
  {
    /**
     * Takes a place in a queue until the scope closes. Fails with {@link RateLimited} if the client has used up its
     * share of the places. A signup or login takes its place first, so that a request without a place needs little
     * processor time.
     */
    readonly enter: (queue: HashingQueue, client: ClientAddress) => Effect.Effect<void, RateLimited, Scope.Scope>
    /**
     * Returns the error with which `enter` would fail after `expected` other requests have taken their places, or
     * undefined if the client could then get a place.
     */
    readonly refusalFor: (queue: HashingQueue, client: ClientAddress, expected: number) => RateLimited | undefined
    /** Hashes a new password in the queue of its request. */
    readonly hash: (queue: HashingQueue, password: Redacted.Redacted<string>) => Effect.Effect<PasswordHash>
    /**
     * Verifies a password: returns true if the password matches the hash. Without a hash, returns false after the same
     * computing time.
     */
    readonly verify: (password: Redacted.Redacted<string>, hash: PasswordHash | undefined) => Effect.Effect<boolean>
  }
>() {}
