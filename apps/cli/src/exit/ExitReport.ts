/**
 * Ends a command: prints the message of a failure as text, and on request as JSON, and returns the exit code.
 */
import { stripVTControlCharacters } from "node:util"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { encode, printNote } from "../terminal/Output.ts"
import { CommandFailed, exitCodes, isDatabaseFailure, rootMessage } from "./CommandFailed.ts"
import { type Refusal, refused } from "./Refusals.ts"

export type Failure = CommandFailed | Refusal | ValidationError.ValidationError

export interface CommandLine {
  readonly json: boolean
  /** The command line that shows the help for the command that the operator probably meant. */
  readonly help: string
}

/** Prints a failure, and returns the exit code. */
export const reportExit = (exit: Exit.Exit<void, Failure>, { help, json }: CommandLine): Effect.Effect<number> => {
  if (Exit.isSuccess(exit)) return Effect.succeed(exitCodes.done)
  if (Cause.isInterruptedOnly(exit.cause)) return Effect.succeed(exitCodes.interrupted)
  const [failure] = Cause.failures(exit.cause)
  const isUsage = ValidationError.isValidationError(failure)
  const failed = isUsage ? usageFailed(failure) : failure === undefined ? defect(exit.cause) : commandFailed(failure)
  return Effect.gen(function* () {
    // For a usage error, @effect/cli has already printed the message, so only the hint is missing.
    yield* printNote(isUsage ? `See: ${help}` : failed.message)
    if (json && failed.reported !== true) {
      yield* Console.log(encode({ error: { code: failed.code, message: failed.message } }))
    }
    return exitCodes[failed.exit]
  })
}

const commandFailed = (failure: CommandFailed | Refusal): CommandFailed =>
  failure instanceof CommandFailed ? failure : refused(failure)

const usageFailed = ({ error }: ValidationError.ValidationError): CommandFailed =>
  new CommandFailed({
    exit: "usage",
    code: "usage",
    message: stripVTControlCharacters(HelpDoc.toAnsiText(error)).trim()
  })

const defect = (cause: Cause.Cause<unknown>): CommandFailed =>
  isDatabaseFailure(cause)
    ? new CommandFailed({
        exit: "failed",
        code: "database_failed",
        message: `The database failed: ${rootMessage(cause)}. Find the cause with: tollgate doctor`
      })
    : new CommandFailed({
        exit: "failed",
        code: "internal_error",
        message: `This is a defect in the Tollgate CLI; please report it.\n${Cause.pretty(cause)}`
      })
