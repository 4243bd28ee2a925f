/**
 * Keeps what is not folded into the sums small: folds what settlements have added since, every few seconds.
 *
 * Any number of nodes may do so. Rankings are exact whether or not anybody does; they only get slower to make.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { UsageRollUps } from "../rankings/UsageRollUps.ts"
import { every } from "./BackgroundTask.ts"

/** Never ends; interrupt it to stop. */
export const usageFold = (foldEvery: Duration.DurationInput = "5 seconds") =>
  Effect.flatMap(UsageRollUps, ({ fold }) => every(foldEvery, "usage was not folded", fold))
