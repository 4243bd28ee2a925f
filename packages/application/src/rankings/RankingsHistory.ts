/**
 * The history of token usage by model, kept so that rankings need not read every settlement.
 *
 * What counts is what settlements say was consumed, without cache reads (`TokenUsage.ranked`), of text models, at the
 * time they were settled: failed requests that consumed tokens too, hidden and retired models too. Probes leave no
 * settlement.
 */
import type { HistoryQuery, UsageHistory } from "@tollgate/domain/rankings/UsageHistory"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class RankingsHistory extends Context.Tag("@tollgate/application/RankingsHistory")<
  RankingsHistory,
  {
    /**
     * Looks up what `ask` asks for, given when the first tokens of any text model were settled: to the minute, or just the
     * day in Jakarta when that is months ago (absent when it was not before `minute`). All of it is of one snapshot of the
     * settlements. Token counts are exact to the last token at every cut; medians are exact, or off by no more than the
     * store says.
     */
    readonly read: (minute: Date, ask: (firstUse: Date | undefined) => HistoryQuery) => Effect.Effect<UsageHistory>
  }
>() {}
