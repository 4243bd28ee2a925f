/**
 * The ports of the rankings for a gateway that publishes none.
 */
import { RankingsCache } from "@tollgate/application/rankings/RankingsCache"
import { RankingsHistory } from "@tollgate/application/rankings/RankingsHistory"
import { RankingsPolicy } from "@tollgate/application/rankings/RankingsPolicy"
import { Effect, Layer } from "effect"

export const layer = Layer.mergeAll(
  Layer.succeed(RankingsPolicy, { enabled: false }),
  Layer.succeed(RankingsHistory, { read: () => Effect.dieMessage("the history was asked") }),
  Layer.succeed(RankingsCache, {
    atHand: () => Effect.dieMessage("the cache was asked"),
    take: () => Effect.dieMessage("the cache was asked")
  })
)
