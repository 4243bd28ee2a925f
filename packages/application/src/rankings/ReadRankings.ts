/**
 * Returns the public rankings of a window (docs/reference/rankings.md#rank-14, docs/reference/rankings.md#h9). Declares
 * the ports of the usage history and the cache.
 *
 *     enabled? ─▶ known window? ─▶ cached for this minute? ── yes ──▶ return it
 *                                        └── no ──▶ read the history, rank all windows, cache
 *
 * If the rankings of the current minute cannot be computed, the result is `RankingsUnavailable`, or `Overloaded` if the
 * database is unavailable or too slow. Older rankings are never returned instead.
 */
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import {
  RankingsDisabled,
  type RankingsQuery,
  RankingsUnavailable,
  readWindow
} from "@tollgate/domain/rankings/RankingsQuery"
import { type RankingsByWindow, rankWindows } from "@tollgate/domain/rankings/RankUsage"
import { type HistoryQuery, historyQueryFor, type UsageHistory } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { DatabaseUnavailable } from "../operations/Database.ts"

/** The setting that decides whether this deployment publishes rankings. */
export class RankingsPolicy extends Context.Tag("@tollgate/application/RankingsPolicy")<
  RankingsPolicy,
  { readonly enabled: boolean }
>() {}

/**
 * The stored sums of token usage per model. With these sums, rankings need not read every settlement.
 *
 * The sums contain the consumed tokens of settlements except cache reads (`TokenUsage.ranked`), at the time of the
 * settlement. The sums include hidden and retired models, and failed requests that consumed tokens. Image requests and
 * requests without a settlement are not included.
 */
export class RankingsHistory extends Context.Tag("@tollgate/application/RankingsHistory")<
  RankingsHistory,
  {
    /**
     * Reads the history in one snapshot of the settlements. First it calls `ask` with the time of the first usage, then
     * it reads what the returned query selects. `firstUse` is the minute in which tokens of a ranked model were first
     * settled. If this minute is more than 62 days ago, `firstUse` is the start of its day in Jakarta. If no such
     * tokens were settled before `minute`, `firstUse` is undefined. Token counts are exact. Medians have an error,
     * whose bound the store documents.
     */
    readonly read: (minute: Date, ask: (firstUse: Date | undefined) => HistoryQuery) => Effect.Effect<UsageHistory>
  }
>() {}

/**
 * The cache of the rankings of the current minute. One node computes the rankings. All nodes return the same rankings.
 */
export class RankingsCache extends Context.Tag("@tollgate/application/RankingsCache")<
  RankingsCache,
  {
    /** Returns the rankings of the current minute from this node's memory; undefined if they are not in the memory. */
    readonly inMemory: (window: Window) => Effect.Effect<Rankings | undefined>
    /**
     * Returns the rankings whose `generatedAt` is in the current minute of the database clock. If there are none yet,
     * one caller on one node computes the rankings for the database time, and all other callers wait. If that caller
     * fails, nothing is cached, and the next caller computes the rankings. If its node dies, another caller computes
     * the rankings. Within the minute, later calls on the same node return the same objects without a database query.
     */
    readonly take: <E>(compute: (now: Date) => Effect.Effect<RankingsByWindow, E>) => Effect.Effect<RankingsByWindow, E>
  }
>() {}

const TIMEOUT = "10 seconds"

export const readRankings = (query: RankingsQuery) =>
  Effect.gen(function* () {
    if (!(yield* RankingsPolicy).enabled) return yield* new RankingsDisabled()
    const window = yield* readWindow(query)
    const cache = yield* RankingsCache
    // Most requests return here. They then need neither the timer nor the fiber of the timeout below.
    const inMemory = yield* cache.inMemory(window)
    if (inMemory !== undefined) return inMemory
    const history = yield* RankingsHistory
    const rankings = yield* cache
      .take((now) => compute(history, now))
      .pipe(
        Effect.timeoutFail({ duration: TIMEOUT, onTimeout: () => new Overloaded({ retryAfterSeconds: 1 }) }),
        Effect.catchAllDefect(unreadable)
      )
    return rankings.get(window) ?? (yield* new RankingsUnavailable({ reason: "too many tokens" }))
  })

const compute = (history: RankingsHistory["Type"], now: Date): Effect.Effect<RankingsByWindow> =>
  Effect.map(
    history.read(minuteOf(now), (firstUse) => historyQueryFor(now, firstUse)),
    (facts) => rankWindows(facts, now)
  )

const unreadable = (defect: unknown): Effect.Effect<never, Overloaded | RankingsUnavailable> =>
  defect instanceof DatabaseUnavailable
    ? Effect.zipRight(
        Effect.logWarning("the rankings could not be computed because the database is unavailable", Cause.die(defect)),
        new Overloaded({ retryAfterSeconds: 1 })
      )
    : Effect.zipRight(
        Effect.logError("the rankings could not be computed", Cause.die(defect)),
        new RankingsUnavailable({ reason: "unreadable" })
      )
