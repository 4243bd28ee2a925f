/**
 * Whose token this is, asked anew with every request: a suspension works at once (gap B4).
 */
import { decideAccess, InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import { Resellers } from "./Resellers.ts"
import { TokenSigner } from "./TokenSigner.ts"

export const authenticate = (token: Redacted.Redacted<string> | undefined) =>
  Effect.gen(function* () {
    if (token === undefined) return yield* new InvalidCredentials()
    const claims = yield* (yield* TokenSigner).verify(token)
    const reseller = yield* (yield* Resellers).find(claims.resellerId)
    return yield* decideAccess(claims, Option.getOrUndefined(reseller))
  })
