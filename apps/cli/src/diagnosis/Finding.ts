/**
 * One thing the doctor looked at.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../runtime/CommandFailed.ts"
import { troubleOf } from "../runtime/RootCause.ts"

export interface Finding {
  readonly check: string
  /** `warn` is worth knowing, `fail` stops the gateway or endangers money. */
  readonly status: "ok" | "warn" | "fail"
  readonly detail: string
  /** What to do about it; nothing when all is well. */
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

/** A look that itself breaks is a finding too: the doctor always gets to the end. */
export const orFinding =
  (check: string, advice: string) =>
  <R>(look: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, R>): Effect.Effect<ReadonlyArray<Finding>, never, R> =>
    Effect.catchAllCause(look, (cause) =>
      Cause.isInterrupted(cause) ? Effect.interrupt : Effect.succeed([fail(check, troubleOf(cause), advice)])
    )
