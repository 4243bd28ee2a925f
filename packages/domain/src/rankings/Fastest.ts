/**
 * Ranks models by the median output tokens per second of their streams. Omits models with too few streams
 * (docs/reference/rankings.md#h8).
 */
import * as Order from "effect/Order"
import { byName, isListed, named } from "./ModelUsage.ts"
import type { FastestEntry, SamplesBucket } from "./Rankings.ts"
import { MIN_SAMPLES, type ModelHistory, type ModelSpeed } from "./UsageHistory.ts"

/** Returns the listed models with enough samples, fastest first. Equally fast models are ordered by public name. */
export const fastestOf = (models: ReadonlyArray<ModelHistory>): ReadonlyArray<FastestEntry> =>
  models
    .flatMap((model) =>
      isListed(model) && model.speed !== undefined && model.speed.samples >= MIN_SAMPLES
        ? [{ model, speed: model.speed }]
        : []
    )
    .sort(bySpeed)
    .map(({ model, speed }) => ({
      ...named(model),
      tpsP50: speed.decitokensPerSecondP50 / 10,
      ttftP50Millis: speed.ttftMillisP50,
      samplesBucket: samplesBucketOf(speed.samples)
    }))

const samplesBucketOf = (samples: number): SamplesBucket =>
  samples >= 10_000 ? "10k+" : samples >= 1_000 ? "1k+" : "200+"

interface Measured {
  readonly model: ModelHistory
  readonly speed: ModelSpeed
}

const bySpeed: Order.Order<Measured> = Order.combine(
  Order.reverse(Order.mapInput(Order.number, ({ speed }: Measured) => speed.decitokensPerSecondP50)),
  byName
)
