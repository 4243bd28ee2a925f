import { describe, expect, it } from "@effect/vitest"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { PasswordHash, PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import {
  Attempts,
  asReseller,
  logIn,
  ResellerRequests,
  signUp,
  TokenSigner
} from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import type { Reseller } from "@tollgate/domain/reseller/Reseller"
import { claimsOf, InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import type { Email } from "@tollgate/domain/validation/Email"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Effect, Layer, Logger, Option, Redacted } from "effect"
import { aReseller } from "../../support/resellers.ts"

const RIGHT = "right password"
const hashOf = (password: string) => PasswordHash(Redacted.make(`hash of ${password}`))

/** Provides the ports with one stored reseller, and records the calls of logins and signups. */
const withReseller = (reseller: Reseller = aReseller(), rateLimited = false) => {
  const log: Array<string> = []
  const logged = (call: string) => Effect.sync(() => void log.push(call))
  const layer = Layer.mergeAll(
    Layer.mock(Resellers, {
      credentials: (email) =>
        Effect.as(
          logged(`look up ${email}`),
          email === reseller.email ? Option.some({ reseller, passwordHash: hashOf(RIGHT) }) : Option.none()
        ),
      find: (id) => Effect.sync(() => (id === reseller.id ? Option.some(reseller) : Option.none())),
      create: ({ email, name, waNumber }) =>
        Effect.zipRight(
          logged(`create ${email}`),
          email === reseller.email
            ? new EmailExists()
            : Effect.succeed(aReseller({ email, name, waNumber, status: "pending" }))
        )
    }),
    Layer.succeed(Attempts, {
      count: (windows) =>
        Effect.zipRight(
          logged(`count ${windows[0]?.key}`),
          rateLimited ? new RateLimited({ retryAfterSeconds: 7 }) : Effect.void
        )
    }),
    ResellerRequests.layer,
    Layer.succeed(PasswordHasher, {
      enter: (queue) => logged(`enter ${queue}`),
      refusalFor: () => undefined,
      hash: (_, password) => Effect.as(logged("hash"), hashOf(Redacted.value(password))),
      verify: (password, hash) =>
        Effect.as(
          logged(hash === undefined ? "verify without a hash" : "verify"),
          hash !== undefined && Redacted.value(hash) === `hash of ${Redacted.value(password)}`
        )
    }),
    Layer.succeed(TokenSigner, {
      issue: ({ resellerId }) => Effect.as(logged("issue"), Redacted.make(`token of ${resellerId}`)),
      verify: (token) =>
        Redacted.value(token) === "genuine" ? Effect.succeed(claimsOf(aReseller())) : new InvalidCredentials()
    }),
    Layer.mock(Blacklist, { covers: (email) => Effect.as(logged("blacklist"), email.endsWith("@bad.example")) })
  )
  const logInAs = (email: string, password = RIGHT) =>
    logIn({ email, password: Redacted.make(password) }, "1.1.1.1" as ClientAddress)
  return { log, layer, logInAs }
}

describe("logging in", () => {
  it.effect("returns a token for the correct password", () => {
    const { log, layer, logInAs } = withReseller()
    return Effect.gen(function* () {
      const { token, reseller } = yield* logInAs(" Reseller@Example.com ")
      expect(Redacted.value(token)).toBe(`token of ${aReseller().id}`)
      expect(reseller).toEqual(aReseller())
      expect(log).toEqual([
        "enter login",
        "count login as reseller@example.com",
        "look up reseller@example.com",
        "verify",
        "issue"
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses a wrong password and an unknown email with the same error", () => {
    const { log, layer, logInAs } = withReseller()
    return Effect.gen(function* () {
      const refusals = yield* Effect.all([
        Effect.flip(logInAs("reseller@example.com", "wrong")),
        Effect.flip(logInAs("unknown@example.com")),
        Effect.flip(logInAs("no email\u0000"))
      ])
      expect(refusals).toEqual([new InvalidCredentials(), new InvalidCredentials(), new InvalidCredentials()])
      expect(log.filter((call) => call.startsWith("verify"))).toEqual([
        "verify",
        "verify without a hash",
        "verify without a hash"
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("writes a log entry without the email and the password", () => {
    const { layer, logInAs } = withReseller()
    const entries: Array<string> = []
    const logger = Logger.make(({ message }) => void entries.push(JSON.stringify(message)))
    return Effect.gen(function* () {
      yield* logInAs("reseller@example.com")
      yield* Effect.flip(logInAs("reseller@example.com", "wrong"))
      yield* Effect.flip(logInAs("my password"))
      const about = { address: "1.1.1.1", reseller: aReseller().id }
      expect(entries.map((entry) => JSON.parse(entry))).toEqual([
        ["reseller logged in", about],
        ["login refused", about],
        ["login refused", { ...about, reseller: "unknown" }]
      ])
      expect(entries.join()).not.toContain("password")
    }).pipe(Effect.provide(Layer.merge(layer, Logger.replace(Logger.defaultLogger, logger))))
  })

  it.effect("refuses too many attempts before it looks up the email", () => {
    const { log, layer, logInAs } = withReseller(aReseller(), true)
    return Effect.gen(function* () {
      expect(yield* Effect.flip(logInAs("reseller@example.com"))).toEqual(new RateLimited({ retryAfterSeconds: 7 }))
      expect(log).toEqual(["enter login", "count login as reseller@example.com"])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each(["pending", "rejected", "suspended"] as const)(
    "returns the status %s only for the correct password",
    (status) => {
      const { layer, logInAs } = withReseller(aReseller({ status }))
      return Effect.gen(function* () {
        expect(yield* Effect.flip(logInAs("reseller@example.com"))).toMatchObject({ _tag: "ResellerNotActive", status })
        expect(yield* Effect.flip(logInAs("reseller@example.com", "wrong"))).toEqual(new InvalidCredentials())
      }).pipe(Effect.provide(layer))
    }
  )
})

describe("a request of a reseller", () => {
  const authenticated = (token: string | undefined, reseller = aReseller()) =>
    Effect.provide(
      asReseller(token === undefined ? undefined : Redacted.make(token), Effect.succeed),
      withReseller(reseller).layer
    )

  it.effect("is authenticated as the reseller in the token", () =>
    Effect.map(authenticated("genuine"), (reseller) => expect(reseller).toEqual(aReseller()))
  )

  it.effect.each([
    ["there is no token", authenticated(undefined)],
    ["the token is forged", authenticated("forged")],
    ["the reseller is suspended", authenticated("genuine", aReseller({ status: "suspended" }))],
    ["the token version is outdated", authenticated("genuine", aReseller({ tokenVersion: 1 }))]
  ] as const)("fails with InvalidCredentials if %s", ([, refused]) =>
    Effect.map(Effect.flip(refused), (error) => expect(error).toEqual(new InvalidCredentials()))
  )

  it.effect("runs with its reseller as the current party", () =>
    Effect.gen(function* () {
      expect(yield* asReseller(Redacted.make("genuine"), () => CurrentParty)).toBe(aReseller().id)
      expect(yield* CurrentParty).toBe(undefined)
    }).pipe(Effect.provide(withReseller().layer))
  )

  it.effect("is refused while 256 requests of the reseller are in progress", () =>
    Effect.gen(function* () {
      const shares = yield* ResellerRequests
      const request = Effect.flip(asReseller(Redacted.make("genuine"), () => Effect.fail("ended")))
      expect(yield* request).toBe("ended")
      while (shares.take(aReseller().id)) {}
      expect(shares.heldBy(aReseller().id)).toBe(256)
      expect(yield* request).toEqual(new Overloaded({ retryAfterSeconds: 1 }))
      shares.release(aReseller().id)
      expect(yield* request).toBe("ended")
      expect(shares.heldBy(aReseller().id)).toBe(255)
    }).pipe(Effect.provide(withReseller().layer))
  )
})

describe("signing up", () => {
  const signup = (email: string) => ({
    email: email as Email,
    password: Redacted.make(RIGHT),
    name: "Toko",
    waNumber: "6281234567"
  })

  const address = "1.1.1.1" as ClientAddress
  const admitted = ["enter signup", "count signup from 1.1.1.1"]

  it.effect("creates a reseller that awaits review", () => {
    const { log, layer } = withReseller()
    return Effect.gen(function* () {
      const reseller = yield* signUp(signup("new@example.com"), address)
      expect(reseller).toMatchObject({ email: "new@example.com", status: "pending" })
      expect(log).toEqual([...admitted, "blacklist", "hash", "create new@example.com"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses an email of the blacklist before it hashes the password", () => {
    const { log, layer } = withReseller()
    return Effect.gen(function* () {
      expect((yield* Effect.flip(signUp(signup("x@bad.example"), address)))._tag).toBe("EmailBlacklisted")
      expect(log).toEqual([...admitted, "blacklist"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("hashes the password before it refuses an existing email", () => {
    const { log, layer } = withReseller()
    return Effect.gen(function* () {
      expect((yield* Effect.flip(signUp(signup("reseller@example.com"), address)))._tag).toBe("EmailExists")
      expect(log).toEqual([...admitted, "blacklist", "hash", "create reseller@example.com"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses too many signups before it reads the blacklist", () => {
    const { log, layer } = withReseller(aReseller(), true)
    return Effect.gen(function* () {
      const refusal = yield* Effect.flip(signUp(signup("new@example.com"), address))
      expect(refusal).toEqual(new RateLimited({ retryAfterSeconds: 7 }))
      expect(log).toEqual(admitted)
    }).pipe(Effect.provide(layer))
  })
})
