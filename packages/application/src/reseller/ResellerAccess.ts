/**
 * Gives resellers access: signup, review by an operator, login, authentication of each request, change of the password
 * and logout.
 */

import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Operator } from "@tollgate/domain/operations/Operation"
import {
  type AttemptWindow,
  type ClientAddress,
  loginWindows,
  signupWindows
} from "@tollgate/domain/reseller/AttemptLimit"
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import { type Reseller, type ResellerId, ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import {
  claimsOf,
  decideAccess,
  InvalidCredentials,
  type ResellerClaims
} from "@tollgate/domain/reseller/ResellerToken"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import type { Login, PasswordChange, Signup } from "@tollgate/domain/reseller/Signup"
import { Email } from "@tollgate/domain/validation/Email"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CurrentParty } from "../operations/CurrentParty.ts"
import { Shares, withinShare } from "../operations/Shares.ts"
import { Blacklist } from "./Blacklist.ts"
import { PasswordHasher } from "./PasswordHasher.ts"
import { Resellers } from "./Resellers.ts"

/** Counts recent attempts, such as logins and signups, over all nodes (`AttemptLimit.ts` of the domain). */
export class Attempts extends Context.Tag("@tollgate/application/Attempts")<
  Attempts,
  {
    /**
     * Counts or refuses an attempt, in one transaction. Locks the rows of the windows in the given order, applies
     * `decideAttempt` at the database time, and writes the result. No window exceeds its limit, even if many attempts
     * run concurrently on many nodes.
     */
    readonly count: (windows: ReadonlyArray<AttemptWindow>) => Effect.Effect<void, RateLimited>
  }
>() {}

/**
 * Maximum number of requests of resellers that are in progress in this process. One reseller gets at most half of them,
 * so that it cannot fill the memory or the queues for database connections.
 */
const MAX_REQUESTS_IN_PROGRESS = 512

/** The shares of resellers in the requests in progress. */
export class ResellerRequests extends Context.Tag("@tollgate/application/ResellerRequests")<
  ResellerRequests,
  Shares<ResellerId>
>() {
  static readonly layer = Layer.sync(ResellerRequests, () => new Shares<ResellerId>(MAX_REQUESTS_IN_PROGRESS))
}

/** Signs and verifies the tokens that resellers send after a login. */
export class TokenSigner extends Context.Tag("@tollgate/application/TokenSigner")<
  TokenSigner,
  {
    /** Signs a token for `AUDIENCE` with a unique id. The token is valid for `LIFETIME_SECONDS`. */
    readonly issue: (claims: ResellerClaims) => Effect.Effect<Redacted.Redacted<string>>
    /**
     * Returns the claims of a token. Fails if the token is expired or malformed, was not signed by this deployment, or
     * has another issuer, audience or algorithm.
     */
    readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<ResellerClaims, InvalidCredentials>
  }
>() {}

/**
 * Creates a reseller that awaits review (docs/reference/reseller.md#res-2, docs/reference/reseller.md#b9).
 *
 *     a place in the hashing queue ─▶ count the attempt ─▶ blacklist ─▶ hash the password ─▶ create (one per email)
 *
 * The password is hashed even if another reseller has the email, so that the response time is the same in both cases.
 */
export const signUp = ({ email, password, name, waNumber }: Signup, address: ClientAddress) =>
  Effect.gen(function* () {
    const hasher = yield* PasswordHasher
    yield* hasher.enter("signup", address)
    yield* (yield* Attempts).count(signupWindows(address))
    if (yield* (yield* Blacklist).covers(email)) return yield* new EmailBlacklisted()
    const passwordHash = yield* hasher.hash("signup", password)
    return yield* (yield* Resellers).create({ email, name, waNumber, passwordHash })
  }).pipe(Effect.scoped, Effect.provideService(CurrentParty, address))

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
 *     a place in the hashing queue ─▶ count the attempt ─▶ look up ─▶ verify ─▶ active? ─▶ issue
 *
 * An unknown email takes the same time as a wrong password. Only a caller with the correct password receives the
 * reseller's status. The log never contains the given email, because a user can type the password into the wrong field.
 * An attempt above the limit is not logged, so an attacker cannot fill the log.
 */
export const logIn = ({ email: given, password }: Login, address: ClientAddress) =>
  Effect.gen(function* () {
    const email = readEmail(given)
    const hasher = yield* PasswordHasher
    yield* hasher.enter("login", address)
    yield* (yield* Attempts).count(loginWindows({ address, email: Option.getOrUndefined(email) }))

    const resellers = yield* Resellers
    const found = Option.isSome(email) ? yield* resellers.credentials(email.value) : Option.none()
    const known = Option.getOrUndefined(found)
    const right = yield* hasher.verify(password, known?.passwordHash)
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
  }).pipe(Effect.scoped, Effect.provideService(CurrentParty, address))

/**
 * Runs the request of the reseller that the token names, within the share of this reseller. Each request reads the
 * reseller again, so that a suspension applies from the next request on (docs/reference/reseller.md#b4).
 */
export const asReseller = <A, E, R>(
  token: Redacted.Redacted<string> | undefined,
  request: (reseller: Reseller) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    if (token === undefined) return yield* new InvalidCredentials()
    const claims = yield* (yield* TokenSigner).verify(token)
    const authenticated = Effect.gen(function* () {
      const reseller = yield* (yield* Resellers).find(claims.resellerId)
      return yield* request(yield* decideAccess(claims, Option.getOrUndefined(reseller)))
    })
    return yield* withinShare(
      yield* ResellerRequests,
      claims.resellerId,
      Effect.provideService(authenticated, CurrentParty, claims.resellerId),
      new Overloaded({ retryAfterSeconds: 1 })
    )
  })

/**
 * Changes the password of the calling reseller, ends all its tokens, and returns a new token
 * (docs/reference/reseller.md#k6).
 *
 *     a place in the hashing queue ─▶ count the attempt ─▶ verify ─▶ hash ─▶ store and end the tokens ─▶ issue
 *
 * An attempt counts as a login attempt, so that a stolen token does not help to guess the password.
 */
export const changePassword = (
  caller: Reseller,
  { currentPassword, newPassword }: PasswordChange,
  address: ClientAddress
) =>
  Effect.gen(function* () {
    const hasher = yield* PasswordHasher
    yield* hasher.enter("login", address)
    yield* (yield* Attempts).count(loginWindows({ address, email: caller.email }))
    const resellers = yield* Resellers
    const stored = Option.getOrUndefined(yield* resellers.credentials(caller.email))
    if (!(yield* hasher.verify(currentPassword, stored?.passwordHash))) {
      return yield* invalid("current_password", "the current password")
    }
    const reseller = yield* resellers.endTokens(caller, yield* hasher.hash("login", newPassword))
    const loggedIn: LoggedIn = { token: yield* (yield* TokenSigner).issue(claimsOf(reseller)), reseller }
    return loggedIn
  }).pipe(Effect.scoped)

/** Ends all tokens of the calling reseller (docs/reference/reseller.md#k7). */
export const logOut = (caller: Reseller) => Effect.flatMap(Resellers, ({ endTokens }) => endTokens(caller, undefined))
