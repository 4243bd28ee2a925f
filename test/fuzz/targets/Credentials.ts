/**
 * The target of API keys, cursors, reseller tokens and the header `X-Forwarded-For`. An accepted API key or cursor must
 * be a text that the server writes, and an accepted token must have a correct signature.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import * as HmacCursorSealer from "@tollgate/adapters-http/auth/HmacCursorSealer"
import * as JoseTokenSigner from "@tollgate/adapters-http/auth/JoseTokenSigner"
import { presentedKey } from "@tollgate/adapters-http/auth/PresentedKey"
import { onlySecret } from "@tollgate/adapters-http/auth/SigningSecrets"
import * as TrustedProxies from "@tollgate/adapters-http/http/TrustedProxies"
import * as ApiKey from "@tollgate/domain/customer/ApiKey"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { positionFromText, positionToText } from "@tollgate/domain/validation/Cursor"
import { Effect, Either, FastCheck, Option, Redacted } from "effect"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"

const SECRET = "a secret of the fuzzer, long enough to sign with"
const secrets = onlySecret(Redacted.make(SECRET))
const signer = JoseTokenSigner.make({ issuer: "tollgate", ...secrets })
const sealer = HmacCursorSealer.make(secrets)

export interface CredentialsSubject {
  readonly parseKey: (text: string) => ReturnType<typeof ApiKey.parse>
  readonly openCursor: (cursor: string) => Option.Option<string>
  readonly isToken: (token: string) => Promise<boolean>
}

export const credentialsSubject: CredentialsSubject = {
  parseKey: (text) => ApiKey.parse("tg", text),
  openCursor: sealer.open,
  isToken: (token) => Effect.runPromise(Effect.isSuccess(signer.verify(Redacted.make(token))))
}

const proxies = Either.getOrThrow(TrustedProxies.parse("127.0.0.1, 10.0.0.0/8, 2001:db8::/32"))

const check =
  ({ parseKey, openCursor, isToken }: CredentialsSubject) =>
  async (input: Buffer): Promise<void> => {
    const text = input.toString("latin1")
    const key = parseKey(text)
    if (Either.isRight(key)) {
      mustEqual(Redacted.value(ApiKey.render("tg", key.right)), text, "an accepted API key")
      const [prefix, publicId, secret = ""] = text.split("_")
      const sum = ApiKey.fixedWidth(BigInt(ApiKey.crc32(`${prefix}_${publicId}_${secret.slice(0, 43)}`)), 6)
      must(secret.endsWith(sum), "accepts an API key with a wrong checksum")
    }
    const cursor = openCursor(text)
    if (Option.isSome(cursor)) {
      mustEqual(sealer.seal(cursor.value), text, "an accepted cursor")
      const position = positionFromText("u1", cursor.value)
      if (Option.isSome(position))
        mustEqual(positionToText("u1", position.value), cursor.value, "the position in a cursor")
    }
    if (text.split(".").length === 3 && (await isToken(text)))
      must(isSigned(text), "accepts a token with a wrong signature")
    const presented = presentedKey(["Authorization", `Bearer ${text}`, "X-Api-Key", text])
    must(
      Either.isRight(presented) || text.trim() === "" || text.trim().length > 512 || /\s|^bearer/i.test(text.trim()),
      "two equal keys conflict"
    )
    checkAddress(text)
  }

const isSigned = (token: string): boolean => {
  const [header = "", payload = "", signature = ""] = token.split(".")
  const expected = createHmac("sha256", SECRET).update(`${header}.${payload}`).digest()
  const received = Buffer.from(signature, "base64url")
  return received.length === expected.length && timingSafeEqual(received, expected)
}

const checkAddress = (forwarded: string): void => {
  const request = { socket: { remoteAddress: "127.0.0.1" }, headers: { "x-forwarded-for": forwarded } }
  const address = TrustedProxies.clientAddressOf(request as unknown as IncomingMessage, proxies)
  must(isIP(address.replace(/\/64$/, "")) !== 0, `the address of the client is ${address}`)
}

const random = FastCheck.uint8Array({ minLength: 44, maxLength: 44 })
const key = random.map((bytes) => Redacted.value(ApiKey.render("tg", ApiKey.generateKey("tg", bytes))))
const cursor = FastCheck.oneof(
  FastCheck.string({ maxLength: 20 }).map(sealer.seal),
  FastCheck.tuple(FastCheck.nat(), FastCheck.uuid()).map(([micros, id]) => sealer.seal(`u1 ${micros} ${id}`))
)
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
const signed = (header: object, payload: object, secret: string): string => {
  const text = `${base64(header)}.${base64(payload)}`
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`
}
const FAR = 4_000_000_000
const claims = { iss: "tollgate", aud: "reseller", sub: ResellerId.make("01930000-0000-7000-8000-000000000001") }
const token = FastCheck.tuple(
  FastCheck.constantFrom<object>(
    { alg: "HS256", kid: "1" },
    { alg: "none", kid: "1" },
    { alg: "HS256" },
    { alg: "HS512", kid: "1" }
  ),
  FastCheck.constantFrom<object>({}, { exp: 1 }, { ver: -1 }, { sub: "x" }, { aud: ["reseller"] }),
  FastCheck.constantFrom(SECRET, SECRET, "another secret")
).map(([header, more, secret]) => signed(header, { ...claims, iat: 1, exp: FAR, jti: "1", ver: 0, ...more }, secret))
const addresses = FastCheck.array(
  FastCheck.oneof(
    FastCheck.ipV4(),
    FastCheck.ipV6(),
    FastCheck.constantFrom("10.1.1.1", "[::1]:80", "::ffff:1.2.3.4", "fe80::1%eth0", "")
  ),
  { maxLength: 4 }
).map((list) => list.join(", "))

export const credentialsTarget = (subject: CredentialsSubject): FuzzTarget => ({
  name: "credentials",
  grammar: FastCheck.oneof(key, cursor, token, addresses).map((text) => Buffer.from(text)),
  words: ["tg_", "_", ".", "..", "=", "eyJhbGciOiJub25lIn0", "-", ",", "::", "%", "/64"],
  testInputs: 250,
  open: pure(check(subject))
})
