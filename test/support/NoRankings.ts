/**
 * Provides the rankings ports for a gateway that publishes no rankings.
 */
import { RankingsCache, RankingsHistory, RankingsPolicy } from "@tollgate/application/rankings/ReadRankings"
import { Effect, Layer } from "effect"

export const layer = Layer.mergeAll(
  Layer.succeed(RankingsPolicy, { enabled: false }),
  Layer.succeed(RankingsHistory, { read: () => Effect.dieMessage("the rankings history was read") }),
  Layer.succeed(RankingsCache, {
    inMemory: () => Effect.dieMessage("the rankings cache was read"),
    take: () => Effect.dieMessage("the rankings cache was read")
  })
)
