/**
 * Maintains the usage sums from which rankings are computed. The sums can be recomputed from the settlements at any
 * time.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface Rebuilt {
  /** The number of days, in Jakarta time, whose sums were recomputed. */
  readonly days: number
  /** The number of corrected sums. Each sum is for one model and one minute, hour or day. */
  readonly corrected: number
}

export class UsageRollUps extends Context.Tag("@tollgate/application/UsageRollUps")<
  UsageRollUps,
  {
    /** Adds rows of `usage_delta` to the sums, and returns their number. Does nothing while another node folds. */
    readonly fold: Effect.Effect<number>
    /** Recomputes all sums from the settlements. The service continues to run meanwhile. */
    readonly rebuild: Effect.Effect<Rebuilt>
  }
>() {}
