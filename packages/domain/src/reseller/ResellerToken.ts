/**
 * What a reseller's token says, and when it is believed (spec: Authentication; gap B4).
 *
 * A good signature alone is not enough: the reseller must be active now, and the token of its present version, so that
 * a suspension works at once.
 */
import * as Either from "effect/Either"
import type { Reseller, ResellerId } from "./Reseller.ts"
import { InvalidCredentials } from "./ResellerErrors.ts"

export const AUDIENCE = "reseller"
export const LIFETIME_SECONDS = 86_400

export interface ResellerClaims {
  /** `sub` */
  readonly resellerId: ResellerId
  /** `ver` */
  readonly tokenVersion: number
}

export const claimsOf = ({ id, tokenVersion }: Reseller): ResellerClaims => ({ resellerId: id, tokenVersion })

/** Whether genuine claims still open the door; `reseller` is who they name, as of now. */
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
