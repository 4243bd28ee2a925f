/**
 * A reseller gets a token for its password (spec: login; gaps B5, B6).
 *
 *     count the attempt ─▶ look up ─▶ verify ─▶ active? ─▶ issue
 *
 * An unknown email is verified against nothing at the same cost, and only who knows the password learns the status.
 */

import type { ClientAddress } from "@tollgate/domain/reseller/LoginLimit"
import { type Reseller, ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import { claimsOf, InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import type { Login } from "@tollgate/domain/reseller/Signup"
import { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { LoginAttempts } from "./LoginAttempts.ts"
import { PasswordHasher } from "./PasswordHasher.ts"
import { Resellers } from "./Resellers.ts"
import { TokenSigner } from "./TokenSigner.ts"

export interface LoggedIn {
  readonly token: Redacted.Redacted<string>
  readonly reseller: Reseller
}

const readEmail = Schema.decodeOption(Email)

export const logIn = ({ email: given, password }: Login, address: ClientAddress) =>
  Effect.gen(function* () {
    const email = readEmail(given)
    yield* (yield* LoginAttempts).count({ address, email: Option.getOrUndefined(email) })

    const resellers = yield* Resellers
    const found = Option.isSome(email) ? yield* resellers.credentials(email.value) : Option.none()
    const known = Option.getOrUndefined(found)
    const right = yield* (yield* PasswordHasher).verify(password, known?.passwordHash)
    if (known === undefined || !right) return yield* new InvalidCredentials()

    const { reseller } = known
    if (reseller.status !== "active") return yield* new ResellerNotActive({ status: reseller.status })
    const loggedIn: LoggedIn = { token: yield* (yield* TokenSigner).issue(claimsOf(reseller)), reseller }
    return loggedIn
  })
