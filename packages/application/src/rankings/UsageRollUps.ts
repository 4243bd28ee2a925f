/**
 * The sums that rankings are made from, kept beside the settlements and never the source of anything themselves.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface Rebuilt {
  /** Days of Jakarta that were counted again. */
  readonly days: number
  /** Sums by model and minute, hour or day that had been wrong. */
  readonly corrected: number
}

export class UsageRollUps extends Context.Tag("@tollgate/application/UsageRollUps")<
  UsageRollUps,
  {
    /** Adds what transactions have left behind to the sums; how many rows. Nothing where another node is at it. */
    readonly fold: Effect.Effect<number>
    /** Counts everything again from the settlements, while the service goes on. */
    readonly rebuild: Effect.Effect<Rebuilt>
  }
>() {}
