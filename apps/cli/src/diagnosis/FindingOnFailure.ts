/**
 * Turns an error of a check of `tollgate doctor` into a finding.
 */
import { type Finding, fail } from "@tollgate/application/operator/Finding"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { rootMessage } from "../exit/CommandFailed.ts"

/** Turns an error of a check into a finding, so that `tollgate doctor` still runs the remaining checks. */
export const findingOnFailure =
  (check: string, advice: string) =>
  <R>(
    checks: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, R>
  ): Effect.Effect<ReadonlyArray<Finding>, never, R> =>
    Effect.catchAllCause(checks, (cause) =>
      Cause.isInterrupted(cause) ? Effect.interrupt : Effect.succeed([fail(check, rootMessage(cause), advice)])
    )
