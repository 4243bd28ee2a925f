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

/**
 * The message of `pg` for a connection attempt that took too long. The cause of this error is a lost connection,
 * because `pg` itself closes the connection after the time limit.
 */
const CONNECTION_TIMEOUT = "Connection terminated due to connection timeout"

/** Returns the message of the innermost error; the outer errors only wrap it. */
export const rootMessageOf = (error: unknown): string => {
  const chain = causeChainOf(error)
  if (chain.some((each) => each instanceof Error && each.message === CONNECTION_TIMEOUT))
    return "the connection attempt timed out"
  const innermost = chain.at(-1)
  if (!(innermost instanceof Error)) return String(innermost)
  return innermost.message === "" ? innermost.name : innermost.message
}
