/**
 * Usage over a window, bucket by bucket, of the leading models by name and of the rest together (gap H2).
 */
import * as Tokens from "../money/Tokens.ts"
import type { Point } from "./Rankings.ts"
import type { ModelHistory, TokensOver } from "./UsageHistory.ts"
import type { Bucket } from "./Window.ts"

/** So many models have a line of their own. */
export const MOST_KEYS = 8

/** Each point adds up to what all models, hidden ones too, used in its bucket. */
export const pointsOf = (
  buckets: ReadonlyArray<Bucket>,
  keys: ReadonlyArray<ModelHistory>,
  all: ReadonlyArray<ModelHistory>,
  tokensOver: TokensOver
): ReadonlyArray<Point> =>
  buckets.map((bucket) => {
    const { start, partial } = bucket
    const values = keys.map((model) => tokensOver(bucket, model))
    const everything = Tokens.sum(all.map((model) => tokensOver(bucket, model)))
    return { start, partial, values, other: Tokens.Tokens(everything - Tokens.sum(values)) }
  })
