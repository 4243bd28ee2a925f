/**
 * Gives resellers access: sign-up, review by an operator, login, and authentication of each request.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import type { ClientAddress, LoginAttempt } from "@tollgate/domain/reseller/LoginLimit"
import { type Reseller, ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import {
  claimsOf,
  decideAccess,
  InvalidCredentials,
  type ResellerClaims
} from "@tollgate/domain/reseller/ResellerToken"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import type { Login, Signup } from "@tollgate/domain/reseller/Signup"
import { Email } from "@tollgate/domain/validation/Email"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Blacklist } from "./Blacklist.ts"
import { PasswordHasher } from "./PasswordHasher.ts"
import { Resellers } from "./Resellers.ts"

/** The counters of recent login attempts over all nodes. */
export class LoginAttempts extends Context.Tag("@tollgate/application/LoginAttempts")<
  LoginAttempts,
  {
    /**
     * Counts or refuses an attempt, in one transaction. Locks the rows of `windowsOf(attempt)` in the returned order,
     * applies `decideAttempt` at the database time, and writes the result. No window exceeds its limit, even if many
     * attempts run concurrently on many nodes.
     */
    readonly count: (attempt: LoginAttempt) => Effect.Effect<void, RateLimited>
  }
>() {}

/** Signs and verifies the tokens that resellers send after a login. */
export class TokenSigner extends Context.Tag("@tollgate/application/TokenSigner")<
  TokenSigner,
  {
    /** Signs a token for `AUDIENCE` with a unique id. The token is valid for `LIFETIME_SECONDS`. */
    readonly issue: (claims: ResellerClaims) => Effect.Effect<Redacted.Redacted<string>>
    /**
     * Returns the claims of a token. Fails if the token is expired, was not signed by this deployment, or has another
     * audience or algorithm.
     */
    readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<ResellerClaims, InvalidCredentials>
  }
>() {}

/**
 * Creates a reseller that awaits review (docs/reference/reseller.md#res-2, docs/reference/reseller.md#b9).
 *
 *     blacklist ─▶ hash the password ─▶ create (one reseller per email)
 *
 * The password is hashed even if another reseller has the email, so that the response time is the same in both cases.
 */
export const signUp = ({ email, password, name, waNumber }: Signup) =>
  Effect.gen(function* () {
    if (yield* (yield* Blacklist).covers(email)) return yield* new EmailBlacklisted()
    const passwordHash = yield* (yield* PasswordHasher).hash(password)
    return yield* (yield* Resellers).create({ email, name, waNumber, passwordHash })
  })

/**
 * Changes the status of a reseller for an operator. The audit log records the reason (docs/reference/reseller.md#b8).
 */
export const reviewReseller = (idOrEmail: string, move: ReviewMove, operator: Operator) =>
  Effect.gen(function* () {
    const resellers = yield* Resellers
    const { id } = yield* resellers.named(idOrEmail)
    return yield* resellers.review(id, move, operator)
  })

export interface LoggedIn {
  readonly token: Redacted.Redacted<string>
  readonly reseller: Reseller
}

const readEmail = Schema.decodeOption(Email)

/**
 * Returns a token for a correct email and password (docs/reference/reseller.md#res-4, docs/reference/reseller.md#b5,
 * docs/reference/reseller.md#b6).
 *
 *     count the attempt ─▶ look up ─▶ verify ─▶ active? ─▶ issue
 *
 * An unknown email takes the same time as a wrong password. Only a caller with the correct password receives the
 * reseller's status. The log never contains the given email, because users type passwords into the wrong field. An
 * attempt above the limit is not logged, so an attacker cannot fill the log.
 */
export const logIn = ({ email: given, password }: Login, address: ClientAddress) =>
  Effect.gen(function* () {
    const email = readEmail(given)
    yield* (yield* LoginAttempts).count({ address, email: Option.getOrUndefined(email) })

    const resellers = yield* Resellers
    const found = Option.isSome(email) ? yield* resellers.credentials(email.value) : Option.none()
    const known = Option.getOrUndefined(found)
    const right = yield* (yield* PasswordHasher).verify(password, known?.passwordHash)
    if (known === undefined || !right) {
      yield* Effect.logWarning("login refused", { address, reseller: known?.reseller.id ?? "unknown" })
      return yield* new InvalidCredentials()
    }

    const { reseller } = known
    const { status } = reseller
    if (status !== "active") {
      yield* Effect.logWarning("login refused", { address, reseller: reseller.id, status })
      return yield* new ResellerNotActive({ status })
    }
    yield* Effect.logInfo("reseller logged in", { address, reseller: reseller.id })
    const loggedIn: LoggedIn = { token: yield* (yield* TokenSigner).issue(claimsOf(reseller)), reseller }
    return loggedIn
  })

/**
 * Returns the reseller of a token. Each request reads the reseller again, so that a suspension takes effect at once
 * (docs/reference/reseller.md#b4).
 */
export const authenticate = (token: Redacted.Redacted<string> | undefined) =>
  Effect.gen(function* () {
    if (token === undefined) return yield* new InvalidCredentials()
    const claims = yield* (yield* TokenSigner).verify(token)
    const reseller = yield* (yield* Resellers).find(claims.resellerId)
    return yield* decideAccess(claims, Option.getOrUndefined(reseller))
  })
