/**
 * Defines the error of a failed command, which has a message, a code for programs, and the exit code of the process.
 */
import { causeChainOf, rootMessageOf } from "@tollgate/composition/StartFailed"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"

/** The exit codes of the process. Scripts rely on these numbers. */
export const exitCodes = {
  done: 0,
  /** The command failed, for example because the database is unreachable or the audit found a difference. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** A business rule refuses the command, for example because the user already exists. */
  refused: 3,
  /** A signal interrupted the command. After Ctrl-C, shells report the same code. */
  interrupted: 130
} as const

export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exit: Exclude<keyof typeof exitCodes, "done" | "interrupted">
  /** A stable code for programs. */
  readonly code: string
  /** Full sentences for people, which state the failure and the remedy. */
  readonly message: string
  /** True if the document on stdout already reports the failure. */
  readonly reported?: boolean
}> {}

/** Returns the message of the innermost error. The outer errors only wrap it. */
export const rootMessage = (cause: Cause.Cause<unknown>): string => rootMessageOf(Cause.squash(cause))

/**
 * Returns true if the cause contains an SQL error, or an error with a SQLSTATE or a system error code such as
 * `ECONNREFUSED`. The CLI reports such a cause as a failure of the database, and any other defect as a bug of the CLI.
 */
export const isDatabaseFailure = (cause: Cause.Cause<unknown>): boolean =>
  causeChainOf(Cause.squash(cause)).some(
    (error) => hasMember(error, "_tag", /^SqlError$/) || hasMember(error, "code", /^(E[A-Z]{3,}|[0-9A-Z]{5})$/)
  )

const hasMember = (value: unknown, name: string, form: RegExp): boolean =>
  typeof value === "object" &&
  value !== null &&
  name in value &&
  form.test(String((value as Readonly<Record<string, unknown>>)[name]))
