/**
 * The usage sums that rankings are computed from. They are derived from the settlements and can be rebuilt at any time.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface Rebuilt {
  /** The number of recounted days (Jakarta time). */
  readonly days: number
  /** The number of wrong sums, each for one model and one minute, hour or day. */
  readonly corrected: number
}

export class UsageRollUps extends Context.Tag("@tollgate/application/UsageRollUps")<
  UsageRollUps,
  {
    /** Adds newly appended usage rows to the sums and returns their number. Does nothing while another node folds. */
    readonly fold: Effect.Effect<number>
    /** Recounts all sums from the settlements, without stopping the service. */
    readonly rebuild: Effect.Effect<Rebuilt>
  }
>() {}
