/**
 * A program cannot start: the message is one line that names the cause and the remedy.
 */
import * as Data from "effect/Data"

export class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}

/** An error, its cause, the cause of that, and so on. */
export const causeChainOf = (error: unknown): ReadonlyArray<unknown> => {
  // Connecting to a host with several addresses fails once for each address.
  const inner = error instanceof AggregateError ? error.errors[0] : error instanceof Error ? error.cause : undefined
  return inner === undefined || inner === null ? [error] : [error, ...causeChainOf(inner)]
}

/** The message of the innermost error: the outer errors only wrap it. */
export const rootMessageOf = (error: unknown): string => {
  const innermost = causeChainOf(error).at(-1)
  if (!(innermost instanceof Error)) return String(innermost)
  return innermost.message === "" ? innermost.name : innermost.message
}
