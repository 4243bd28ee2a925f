/**
 * Defines a finding: the result of one check that `tollgate doctor` runs.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { rootMessage } from "../exit/CommandFailed.ts"

export interface Finding {
  readonly check: string
  /** `fail`: the gateway or a part of it cannot work, or money is at risk. `warn`: any other problem. */
  readonly status: "ok" | "warn" | "fail"
  readonly detail: string
  /** The action that corrects the problem; absent when the status is `ok`. */
  readonly advice?: string
}

export const ok = (check: string, detail: string): Finding => ({ check, status: "ok", detail })

export const warn = (check: string, detail: string, advice: string): Finding => ({
  check,
  status: "warn",
  detail,
  advice
})

export const fail = (check: string, detail: string, advice: string): Finding => ({
  check,
  status: "fail",
  detail,
  advice
})

/** Turns an error of a check into a finding, so that `tollgate doctor` still runs the remaining checks. */
export const findingOnFailure =
  (check: string, advice: string) =>
  <R>(
    checks: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, R>
  ): Effect.Effect<ReadonlyArray<Finding>, never, R> =>
    Effect.catchAllCause(checks, (cause) =>
      Cause.isInterrupted(cause) ? Effect.interrupt : Effect.succeed([fail(check, rootMessage(cause), advice)])
    )
