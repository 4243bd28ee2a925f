/**
 * A command that did not do what it was asked to: what to say about it, and how the process ends.
 */
import * as Data from "effect/Data"

/** How a process of ours ends: scripts rely on these. */
export const exitCodes = {
  done: 0,
  /** Something is broken: the database is away, the audit found a difference. */
  failed: 1,
  /** The command line makes no sense. */
  usage: 2,
  /** A rule says no: the user exists, the operation id is taken. */
  refused: 3,
  /** Stopped by Ctrl-C, as shells expect it. */
  interrupted: 130
} as const

export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exit: Exclude<keyof typeof exitCodes, "done" | "interrupted">
  /** For programs. */
  readonly code: string
  /** For people: what happened and what to do, in full sentences. */
  readonly message: string
  /** The answer is on stdout already, and says so itself. */
  readonly answered?: boolean
}> {}
