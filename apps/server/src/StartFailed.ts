/**
 * The server cannot start; the message says why, and what to do.
 */
import * as Data from "effect/Data"

export class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}

/** What the innermost of nested errors says; the outer ones only say where it was met. */
export const rootOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return rootOf(error.cause)
  // A host with several addresses fails once for each.
  return error instanceof AggregateError ? rootOf(error.errors[0]) : error.message
}
