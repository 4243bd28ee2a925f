/**
 * Serves the public rankings of a window (docs/reference/rankings.md#rank-14, docs/reference/rankings.md#h9); declares
 * the history and the cache that it reads.
 *
 *     enabled? ─▶ known window? ─▶ cached for this minute? ── yes ──▶ return it
 *                                        └── no ──▶ read the history, rank all windows, cache
 *
 * Rankings of an earlier minute are never returned. If the current rankings cannot be computed, the response says that
 * rankings are unavailable.
 */
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

/** Whether this deployment publishes rankings. */
export class RankingsPolicy extends Context.Tag("@tollgate/application/RankingsPolicy")<
  RankingsPolicy,
  { readonly enabled: boolean }
>() {}

/**
 * The stored history of token usage per model, so that rankings need not read every settlement.
 *
 * For each text model, it counts the tokens of each settlement, except cache reads (`TokenUsage.ranked`), at the time
 * of settlement. It includes failed requests that consumed tokens, and hidden and retired models. Probes are not
 * counted, because they have no settlement.
 */
export class RankingsHistory extends Context.Tag("@tollgate/application/RankingsHistory")<
  RankingsHistory,
  {
    /**
     * Reads the history that the query returned by `ask` selects, as one snapshot of the settlements. `firstUse` is the
     * time when the first tokens of any text model were settled: to the minute, or to the day in Jakarta if that is
     * months ago; undefined if no tokens were settled before `minute`. Token counts are exact at every boundary;
     * medians are within the error bound that the store documents.
     */
    readonly read: (minute: Date, ask: (firstUse: Date | undefined) => HistoryQuery) => Effect.Effect<UsageHistory>
  }
>() {}

/** The rankings of the current minute. One node computes them once; all nodes return the same rankings. */
export class RankingsCache extends Context.Tag("@tollgate/application/RankingsCache")<
  RankingsCache,
  {
    /** Returns the rankings of the current minute from this node's memory, without a database query, or undefined. */
    readonly inMemory: (window: Window) => Effect.Effect<Rankings | undefined>
    /**
     * Returns the rankings whose `generatedAt` is in the current minute of the database clock. If there are none yet,
     * one caller on one node computes them for the database time, and all other callers wait. If that caller fails,
     * nothing is cached and the next caller computes; if its node dies, the others stop waiting. Rankings of an earlier
     * minute are never returned. Within a minute, later calls on the same node return the same objects without a
     * database query.
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
    // Most requests return here, without the cost of a timer and a fiber.
    const inMemory = yield* cache.inMemory(window)
    if (inMemory !== undefined) return inMemory
    const history = yield* RankingsHistory
    const rankings = yield* cache
      .take((now) => compute(history, now))
      .pipe(
        Effect.timeoutFail({ duration: TIMEOUT, onTimeout: () => new RankingsUnavailable({ reason: "too slow" }) }),
        Effect.catchAllDefect(unreadable)
      )
    return rankings.get(window) ?? (yield* new RankingsUnavailable({ reason: "too many tokens" }))
  })

const compute = (history: RankingsHistory["Type"], now: Date): Effect.Effect<RankingsByWindow> =>
  Effect.map(
    history.read(minuteOf(now), (firstUse) => historyQueryFor(now, firstUse)),
    (facts) => rankWindows(facts, now)
  )

const unreadable = (defect: unknown) =>
  Effect.zipRight(
    Effect.logError("the rankings could not be computed", Cause.die(defect)),
    Effect.fail(new RankingsUnavailable({ reason: "unreadable" }))
  )
