/**
 * Defines the error of an embedded Postgres that cannot start, or that exited while a program needed it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()("EmbeddedPostgresFailed", {
  message: Schema.String
}) {}

/**
 * Runs a step that uses the file system or another program. If the step fails, the error message begins with `doing`.
 */
export const step = <A>(doing: string, run: () => Promise<A> | A): Effect.Effect<A, EmbeddedPostgresFailed> =>
  Effect.tryPromise({
    try: async () => run(),
    catch: (cause) =>
      new EmbeddedPostgresFailed({ message: `${doing}: ${cause instanceof Error ? cause.message : String(cause)}` })
  })
