/**
 * The sums that rankings are computed from. They are derived from the settlements and can be rebuilt at any time.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface Rebuilt {
  /** Days in Jakarta that were recounted. */
  readonly days: number
  /** Sums by model and minute, hour or day that were wrong. */
  readonly corrected: number
}

export class UsageRollUps extends Context.Tag("@tollgate/application/UsageRollUps")<
  UsageRollUps,
  {
    /** Adds the rows that transactions have appended to the sums; returns the number of rows. No-op while another node folds. */
    readonly fold: Effect.Effect<number>
    /** Recounts everything from the settlements, while the service runs. */
    readonly rebuild: Effect.Effect<Rebuilt>
  }
>() {}
