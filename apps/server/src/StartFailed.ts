/**
 * The server cannot start; the message says why, and what to do.
 */
import * as Data from "effect/Data"

export class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}
