/**
 * The tokens resellers carry after a login.
 */
import type { InvalidCredentials, ResellerClaims } from "@tollgate/domain/reseller/ResellerToken"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

export class TokenSigner extends Context.Tag("@tollgate/application/TokenSigner")<
  TokenSigner,
  {
    /** Valid from now for `LIFETIME_SECONDS`, for `AUDIENCE`, with an id of its own. */
    readonly issue: (claims: ResellerClaims) => Effect.Effect<Redacted.Redacted<string>>
    /** What a token says, when we signed it, for this use, with the pinned algorithm, and its time is not over. */
    readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<ResellerClaims, InvalidCredentials>
  }
>() {}
