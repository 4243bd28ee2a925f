/**
 * The embedded Postgres cannot be started, or ended while it was needed.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()("EmbeddedPostgresFailed", {
  message: Schema.String
}) {}

/** Runs a step on the file system or of another program; its failure names the step. */
export const step = <A>(doing: string, run: () => Promise<A> | A): Effect.Effect<A, EmbeddedPostgresFailed> =>
  Effect.tryPromise({
    try: async () => run(),
    catch: (cause) =>
      new EmbeddedPostgresFailed({ message: `${doing}: ${cause instanceof Error ? cause.message : String(cause)}` })
  })
