import { it as effectIt } from "@effect/vitest"
import * as JoseTokenSigner from "@tollgate/adapters-http/auth/JoseTokenSigner"
import { onlySecret } from "@tollgate/adapters-http/auth/SigningSecrets"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { Effect, Either, Redacted, TestClock } from "effect"
import {
  decodeJwt,
  decodeProtectedHeader,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT
} from "jose"
import { describe, expect, it } from "vitest"

const SECRET = "a secret of the tests, long enough to sign with"
const OTHER = "another secret of the tests, as long as the first"
const issuer = "tollgate"
const claims = { resellerId: ResellerId.make("01930000-0000-7000-8000-000000000001"), tokenVersion: 3 }

const signer = JoseTokenSigner.make({ issuer, ...onlySecret(Redacted.make(SECRET)) })
const refused = Either.left(new InvalidCredentials())

const verify = (token: string) => Effect.either(signer.verify(Redacted.make(token)))
const now = () => Math.floor(Date.now() / 1_000)

/** Returns valid claims with the given changes. */
const payload = (facts: Record<string, unknown> = {}): JWTPayload => ({
  iss: issuer,
  aud: "reseller",
  sub: claims.resellerId,
  iat: now(),
  exp: now() + 60,
  jti: "1",
  ver: 3,
  ...facts
})

const forged = (facts: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}, secret = SECRET) =>
  new SignJWT(payload(facts))
    .setProtectedHeader({ alg: "HS256", kid: "1", ...header })
    .sign(new TextEncoder().encode(secret))

describe("a token", () => {
  effectIt.effect("names its issuer, audience, reseller and signing secret", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_763_631_000_500)
      const token = Redacted.value(yield* signer.issue(claims))
      expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "JWT", kid: "1" })
      expect(decodeJwt(token)).toEqual({
        iss: "tollgate",
        aud: "reseller",
        sub: claims.resellerId,
        ver: 3,
        iat: 1_763_631_000,
        exp: 1_763_631_000 + 86_400,
        jti: expect.any(String)
      })
      const again = Redacted.value(yield* signer.issue(claims))
      expect(decodeJwt(again).jti).not.toBe(decodeJwt(token).jti)
      expect(yield* verify(token)).toEqual(Either.right(claims))
    })
  )

  effectIt.effect("is valid for 24 hours", () =>
    Effect.gen(function* () {
      const token = Redacted.value(yield* signer.issue(claims))
      yield* TestClock.adjust("86399 seconds")
      expect(yield* verify(token)).toEqual(Either.right(claims))
      yield* TestClock.adjust("1 seconds")
      expect(yield* verify(token)).toEqual(refused)
    })
  )

  it("is accepted if its claims and its signature are valid", async () => {
    expect(await Effect.runPromise(verify(await forged()))).toEqual(Either.right(claims))
  })

  it.each<readonly [string, () => Promise<string> | string]>([
    ["signed with another secret", () => forged({}, {}, OTHER)],
    ["with an unknown secret name", () => forged({}, { kid: "2" })],
    ["without a secret name", () => forged({}, { kid: undefined as never })],
    ["with a path as the secret name", () => forged({}, { kid: "../../dev/null" })],
    ["signed with another HMAC algorithm", () => forged({}, { alg: "HS512" })],
    ["without a signature", () => new UnsecuredJWT(payload()).encode()],
    [
      "with alg none in its header",
      async () => {
        const [, body] = (await forged()).split(".")
        return `${Buffer.from('{"alg":"none","kid":"1"}').toString("base64url")}.${body}.`
      }
    ],
    [
      "with claims changed after signing",
      async () => {
        const [header, , signature] = (await forged()).split(".")
        return `${header}.${Buffer.from(JSON.stringify(payload({ ver: 4 }))).toString("base64url")}.${signature}`
      }
    ],
    ["that has expired", () => forged({ exp: now() - 1 })],
    ["without an expiry", () => forged({ exp: undefined })],
    ["for another audience", () => forged({ aud: "admin" })],
    ["from another issuer", () => forged({ iss: "elsewhere" })],
    ["without an id", () => forged({ jti: undefined })],
    ["without a version", () => forged({ ver: undefined })],
    ["with a version that is a string", () => forged({ ver: "3" })],
    ["without a subject", () => forged({ sub: undefined })],
    ["with a subject that is not a reseller id", () => forged({ sub: "' OR 1=1" })],
    ["that is not a JWT", () => "not.a.token"],
    ["that is empty", () => ""]
  ])("%s is refused", async (_, make) => {
    expect(await Effect.runPromise(verify(await make()))).toEqual(refused)
  })
})

describe("a signing secret", () => {
  const both = new Map([
    ["1", Redacted.make(SECRET)],
    ["2", Redacted.make(OTHER)]
  ])

  it("verifies its tokens until the secret is removed", async () => {
    const rotated = JoseTokenSigner.make({ issuer, secrets: both, current: "2" })
    const old = await Effect.runPromise(signer.issue(claims))
    expect(await Effect.runPromise(rotated.verify(old))).toEqual(claims)
    const fresh = await Effect.runPromise(rotated.issue(claims))
    expect(decodeProtectedHeader(Redacted.value(fresh)).kid).toBe("2")
    expect(await Effect.runPromise(rotated.verify(fresh))).toEqual(claims)

    const after = JoseTokenSigner.make({ issuer, secrets: new Map([["2", Redacted.make(OTHER)]]), current: "2" })
    expect(await Effect.runPromise(Effect.either(after.verify(old)))).toEqual(refused)
  })

  it("must have at least 32 bytes", () => {
    expect(() => JoseTokenSigner.make({ issuer, ...onlySecret(Redacted.make("short")) })).toThrow(/shorter than 32/)
  })

  it("must exist if it is the current secret", () => {
    expect(() => JoseTokenSigner.make({ issuer, secrets: both, current: "3" })).toThrow(/no signing secret '3'/)
  })
})
