/**
 * A command that failed: its message, its code for programs, and the exit code of the process.
 */
import { causeChainOf, rootMessageOf } from "@tollgate/composition/StartFailed"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"

/** Scripts rely on these. */
export const exitCodes = {
  done: 0,
  /** Something is broken: the database is unreachable, the audit found a difference. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** A rule refuses the command: the user exists, the operation id is used. */
  refused: 3,
  /** Interrupted by Ctrl-C: the code that shells use. */
  interrupted: 130
} as const

export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exit: Exclude<keyof typeof exitCodes, "done" | "interrupted">
  /** For programs. */
  readonly code: string
  /** For people: what happened and what to do, in full sentences. */
  readonly message: string
  /** The document on stdout already reports the failure. */
  readonly reported?: boolean
}> {}

/** The message of the innermost error: the outer errors only wrap the cause. */
export const rootMessage = (cause: Cause.Cause<unknown>): string => rootMessageOf(Cause.squash(cause))

/** Whether the database or the connection to it failed, rather than this program. */
export const isDatabaseFailure = (cause: Cause.Cause<unknown>): boolean =>
  causeChainOf(Cause.squash(cause)).some(
    (error) => hasMember(error, "_tag", /^SqlError$/) || hasMember(error, "code", /^(E[A-Z]{3,}|[0-9A-Z]{5})$/)
  )

const hasMember = (value: unknown, name: string, form: RegExp): boolean =>
  typeof value === "object" &&
  value !== null &&
  name in value &&
  form.test(String((value as Readonly<Record<string, unknown>>)[name]))
