/**
 * Defines the claims of a reseller token, and decides whether a token grants access
 * (docs/reference/reseller.md#res-6, docs/reference/reseller.md#b4).
 *
 * A valid signature is not sufficient. At every request the reseller must be active, and the token must have the
 * reseller's current version. A suspension therefore applies from the next request on.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Reseller, ResellerId } from "./Reseller.ts"

export const AUDIENCE = "reseller"
export const LIFETIME_SECONDS = 86_400

/**
 * The email or password is wrong; or the token is missing, invalid, expired or revoked, or its reseller is not active.
 */
export class InvalidCredentials extends Schema.TaggedError<InvalidCredentials>()("InvalidCredentials", {}) {}

export interface ResellerClaims {
  /** The `sub` claim. */
  readonly resellerId: ResellerId
  /** The `ver` claim. */
  readonly tokenVersion: number
}

export const claimsOf = ({ id, tokenVersion }: Reseller): ResellerClaims => ({ resellerId: id, tokenVersion })

/** Decides whether verified claims grant access. `reseller` is the stored reseller with the id in the claims. */
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

/**
 * Decides the revocation of all tokens of a reseller. Fails if these tokens were already revoked after the caller's
 * token was checked, or if the reseller is no longer active.
 */
export const decideTokenEnd = (
  caller: Reseller,
  stored: Reseller | undefined
): Either.Either<Reseller, InvalidCredentials> =>
  Either.map(decideAccess(claimsOf(caller), stored), (reseller) => ({
    ...reseller,
    tokenVersion: reseller.tokenVersion + 1
  }))
