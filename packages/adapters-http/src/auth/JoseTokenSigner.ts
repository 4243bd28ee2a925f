/**
 * Signs and verifies reseller tokens as JSON Web Tokens (docs/reference/reseller.md#b4). Only the algorithm HS256 is
 * accepted. The token's `kid` header is the name of the configured secret that signed the token.
 */
import { randomUUID } from "node:crypto"
import { TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { AUDIENCE, InvalidCredentials, LIFETIME_SECONDS } from "@tollgate/domain/reseller/ResellerToken"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { decodeProtectedHeader } from "jose/decode/protected_header"
import { SignJWT } from "jose/jwt/sign"
import { jwtVerify } from "jose/jwt/verify"
import { keysOf, type SigningSecrets } from "./SigningSecrets.ts"

export interface JoseTokenSignerOptions extends SigningSecrets {
  /** The `iss` claim. A token with another issuer is refused. */
  readonly issuer: string
}

const ALGORITHM = "HS256"

const Claims = Schema.Struct({ sub: ResellerId, ver: Schema.NonNegativeInt })

export const make = ({ issuer, ...secrets }: JoseTokenSignerOptions): Context.Tag.Service<TokenSigner> => {
  const keys = keysOf(secrets)
  const currentKey = keys.get(secrets.current) as Uint8Array

  const claimsOf = async (token: string, nowMillis: number) => {
    const { kid } = decodeProtectedHeader(token)
    const key = keys.get(kid ?? "")
    if (key === undefined) throw new Error("the token's kid matches no configured secret")
    const { payload } = await jwtVerify(token, key, {
      algorithms: [ALGORITHM],
      issuer,
      audience: AUDIENCE,
      requiredClaims: ["sub", "iat", "exp", "jti", "ver"],
      currentDate: new Date(nowMillis)
    })
    return Schema.decodeUnknownSync(Claims)(payload)
  }

  return {
    issue: ({ resellerId, tokenVersion }) =>
      Effect.flatMap(Clock.currentTimeMillis, (millis) => {
        const issuedAt = Math.floor(millis / 1_000)
        const token = new SignJWT({ ver: tokenVersion })
          .setProtectedHeader({ alg: ALGORITHM, typ: "JWT", kid: secrets.current })
          .setIssuer(issuer)
          .setAudience(AUDIENCE)
          .setSubject(resellerId)
          .setIssuedAt(issuedAt)
          .setExpirationTime(issuedAt + LIFETIME_SECONDS)
          .setJti(randomUUID())
        return Effect.map(
          Effect.promise(() => token.sign(currentKey)),
          (text) => Redacted.make(text)
        )
      }),

    verify: (token) =>
      Effect.flatMap(Clock.currentTimeMillis, (millis) =>
        Effect.tryPromise({
          try: () => claimsOf(Redacted.value(token), millis),
          // The reason for the refusal is dropped, because it must not reach a client.
          catch: () => new InvalidCredentials()
        })
      ).pipe(Effect.map(({ sub, ver }) => ({ resellerId: sub, tokenVersion: ver })))
  }
}

export const layer = (options: JoseTokenSignerOptions): Layer.Layer<TokenSigner> =>
  Layer.sync(TokenSigner, () => make(options))
