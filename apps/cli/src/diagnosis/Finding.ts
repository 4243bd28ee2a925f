/**
 * The result of one check of the doctor.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { rootMessage } from "../exit/CommandFailed.ts"

export interface Finding {
  readonly check: string
  /** `fail` stops the gateway or endangers money; `warn` does not. */
  readonly status: "ok" | "warn" | "fail"
  readonly detail: string
  /** What to do; absent when the check is ok. */
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

/** A check that fails is a finding too, so that the doctor always runs to its end. */
export const findingOnFailure =
  (check: string, advice: string) =>
  <R>(
    checks: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, R>
  ): Effect.Effect<ReadonlyArray<Finding>, never, R> =>
    Effect.catchAllCause(checks, (cause) =>
      Cause.isInterrupted(cause) ? Effect.interrupt : Effect.succeed([fail(check, rootMessage(cause), advice)])
    )
