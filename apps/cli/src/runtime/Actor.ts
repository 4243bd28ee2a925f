/**
 * Who types the command: the user of the operating system, as the audit log remembers it.
 */
import * as Os from "node:os"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** A machine without a user database, as containers often are, still knows the number. */
const actor = Effect.try(() => Os.userInfo().username).pipe(
  Effect.orElseSucceed(() => `uid ${process.getuid?.() ?? "unknown"}`)
)

/** The operator of a command; without a reason of their own the command is the reason. */
export const operatorFor = (command: string, reason: Option.Option<string>): Effect.Effect<Operator> =>
  Effect.map(actor, (actor) => ({ actor, reason: Option.getOrElse(reason, () => `cli: ${command}`) }))
