/**
 * A reseller's token: its claims, and the conditions under which it grants access (docs/reference/reseller.md#res-6,
 * docs/reference/reseller.md#b4).
 *
 * A valid signature alone is not enough: the reseller must be active now, and the token of its current version, so that a
 * suspension takes effect at once.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Reseller, ResellerId } from "./Reseller.ts"

export const AUDIENCE = "reseller"
export const LIFETIME_SECONDS = 86_400

/** Wrong email or password, or a token that is missing, wrong, expired or of a reseller that is not active any more. */
export class InvalidCredentials extends Schema.TaggedError<InvalidCredentials>()("InvalidCredentials", {}) {}

export interface ResellerClaims {
  /** `sub` */
  readonly resellerId: ResellerId
  /** `ver` */
  readonly tokenVersion: number
}

export const claimsOf = ({ id, tokenVersion }: Reseller): ResellerClaims => ({ resellerId: id, tokenVersion })

/** Whether genuine claims still grant access; `reseller` is the one they name, as of now. */
export const decideAccess = (
  claims: ResellerClaims,
  reseller: Reseller | undefined
): Either.Either<Reseller, InvalidCredentials> =>
  reseller !== undefined &&
  reseller.id === claims.resellerId &&
  reseller.status === "active" &&
  reseller.tokenVersion === claims.tokenVersion
    ? Either.right(reseller)
    : Either.left(new InvalidCredentials())
