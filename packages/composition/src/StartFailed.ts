/**
 * Defines the error of a program that cannot start, or that must stop, for example because its embedded Postgres
 * exited.
 */
import * as Data from "effect/Data"

export class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}

/** Returns an error followed by its chain of causes, outermost first. */
export const causeChainOf = (error: unknown): ReadonlyArray<unknown> => {
  // A failed connection to a host with several IP addresses is an AggregateError with one error per address.
  const inner = error instanceof AggregateError ? error.errors[0] : error instanceof Error ? error.cause : undefined
  return inner === undefined || inner === null ? [error] : [error, ...causeChainOf(inner)]
}

/** Returns the message of the innermost error; the outer errors only wrap it. */
export const rootMessageOf = (error: unknown): string => {
  const innermost = causeChainOf(error).at(-1)
  if (!(innermost instanceof Error)) return String(innermost)
  return innermost.message === "" ? innermost.name : innermost.message
}
