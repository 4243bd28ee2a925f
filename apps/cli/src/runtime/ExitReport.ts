/**
 * How a command ends: what is said about a failure, in which form, and the exit code.
 */
import { stripVTControlCharacters } from "node:util"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { encode } from "../terminal/JsonDocument.ts"
import { remark } from "../terminal/Output.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { type Refusal, refused } from "./Refusals.ts"
import { isOfDatabase, troubleOf } from "./RootCause.ts"

export type Failure = CommandFailed | Refusal | ValidationError.ValidationError

export interface CommandLine {
  readonly json: boolean
  /** Where to read about the command that was meant. */
  readonly help: string
}

/** Says what there is to say about this end, and answers the exit code. */
export const conclude = (exit: Exit.Exit<void, Failure>, { help, json }: CommandLine): Effect.Effect<number> => {
  if (Exit.isSuccess(exit)) return Effect.succeed(exitCodes.done)
  if (Cause.isInterruptedOnly(exit.cause)) return Effect.succeed(exitCodes.interrupted)
  const [failure] = Cause.failures(exit.cause)
  const told = ValidationError.isValidationError(failure)
  const failed = told ? misused(failure) : failure === undefined ? broken(exit.cause) : refusedBy(failure)
  return Effect.gen(function* () {
    // What is wrong with a command line was printed where it was read; the hint comes after it.
    yield* remark(told ? `See: ${help}` : failed.message)
    if (json && failed.answered !== true) {
      yield* Console.log(encode({ error: { code: failed.code, message: failed.message } }))
    }
    return exitCodes[failed.exit]
  })
}

const refusedBy = (failure: CommandFailed | Refusal): CommandFailed =>
  failure instanceof CommandFailed ? failure : refused(failure)

const misused = (mistake: ValidationError.ValidationError): CommandFailed =>
  new CommandFailed({
    exit: "usage",
    code: "usage",
    message: stripVTControlCharacters(HelpDoc.toAnsiText(mistake.error)).trim()
  })

const broken = (cause: Cause.Cause<unknown>): CommandFailed =>
  isOfDatabase(cause)
    ? new CommandFailed({
        exit: "failed",
        code: "database_failed",
        message: `The database failed: ${troubleOf(cause)}. See what is wrong with: tollgate doctor`
      })
    : new CommandFailed({
        exit: "failed",
        code: "internal_error",
        message: `This should not have happened; please report it.\n${Cause.pretty(cause)}`
      })
