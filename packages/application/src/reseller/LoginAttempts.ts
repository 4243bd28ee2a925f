/**
 * How often somebody tried to log in lately; the same for all nodes.
 */
import type { LoginAttempt } from "@tollgate/domain/reseller/LoginLimit"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class LoginAttempts extends Context.Tag("@tollgate/application/LoginAttempts")<
  LoginAttempts,
  {
    /**
     * Counts an attempt or refuses it, in one transaction: locks the rows of `windowsOf(attempt)` in that order, applies
     * `decideAttempt` at the database's clock, and writes what it returns. However many race on however many nodes, no
     * window is passed by more than its limit.
     */
    readonly count: (attempt: LoginAttempt) => Effect.Effect<void, RateLimited>
  }
>() {}
