/**
 * Somebody becomes a reseller, to be reviewed (spec: signup; gap B9).
 *
 *     shape ─▶ blacklist ─▶ hash the password ─▶ one reseller an email
 *
 * The password is hashed whether or not the email is taken, so that the time tells nothing the answer does not.
 */
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import type { Signup } from "@tollgate/domain/reseller/Signup"
import * as Effect from "effect/Effect"
import { Blacklist } from "./Blacklist.ts"
import { PasswordHasher } from "./PasswordHasher.ts"
import { Resellers } from "./Resellers.ts"

export const signUp = ({ email, password, name, waNumber }: Signup) =>
  Effect.gen(function* () {
    if (yield* (yield* Blacklist).covers(email)) return yield* new EmailBlacklisted()
    const passwordHash = yield* (yield* PasswordHasher).hash(password)
    return yield* (yield* Resellers).create({ email, name, waNumber, passwordHash })
  })
