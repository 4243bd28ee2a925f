/**
 * Decides what the client is told, and what is logged, about a request that ended with a defect
 * (docs/reference/errors.md#f16): the database was unavailable, or an unexpected exception occurred.
 */
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type { RelayError } from "../wire/InferenceErrors.ts"

export const isDatabaseUnavailable = (cause: Cause.Cause<unknown>): boolean =>
  Chunk.some(Cause.defects(cause), (defect) => defect instanceof DatabaseUnavailable)

/** Returns the error of an inference or image request that ended with a defect. */
export const errorOfDefect = (
  cause: Cause.Cause<unknown>
): Extract<RelayError, { _tag: "Overloaded" | "InternalError" }> =>
  isDatabaseUnavailable(cause) ? new Overloaded({ retryAfterSeconds: 1 }) : { _tag: "InternalError" }

/** Writes the log entry of a request that ended with a defect. */
export const logDefect = (requestId: string, cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const ids = { request_id: requestId }
  return isDatabaseUnavailable(cause)
    ? Effect.logWarning("a request failed because the database is unavailable", ids, cause)
    : Effect.logError("a request failed because of an unexpected exception", ids, cause)
}
