/**
 * Keeps what is not folded into the hours small: folds what settlements have added since, every few seconds.
 *
 * Any number of nodes may do so. Rankings are exact whether or not anybody does; they only get slower to make.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { UsageRollUps } from "../ports/UsageRollUps.ts"

/** Never ends; interrupt it to stop. */
export const foldUsage = (every: Duration.DurationInput = "5 seconds") =>
  Effect.flatMap(UsageRollUps, ({ fold }) =>
    fold.pipe(
      Effect.catchAllCause((cause) => Effect.logError("usage was not folded", cause)),
      Effect.repeat(Schedule.spaced(every))
    )
  )
