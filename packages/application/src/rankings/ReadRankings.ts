/**
 * The public rankings of a window (docs/reference/rankings.md#rank-14, docs/reference/rankings.md#h9), with the history
 * and the cache they are read from.
 *
 *     enabled? ─▶ known window? ─▶ cached for this minute? ── yes ──▶ return it
 *                                        └── no ──▶ read the history, rank all windows, cache
 *
 * Rankings of an earlier minute are never returned. If the present ones cannot be computed, the response is that
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

/** Whether this installation publishes rankings. */
export class RankingsPolicy extends Context.Tag("@tollgate/application/RankingsPolicy")<
  RankingsPolicy,
  { readonly enabled: boolean }
>() {}

/**
 * The history of token usage by model, stored so that rankings need not read every settlement.
 *
 * It counts the tokens that settlements record, without cache reads (`TokenUsage.ranked`), of text models, at the time
 * of settlement. Failed requests that consumed tokens, and hidden and retired models, count too. Probes have no
 * settlement.
 */
export class RankingsHistory extends Context.Tag("@tollgate/application/RankingsHistory")<
  RankingsHistory,
  {
    /**
     * Reads what `ask` requests. `ask` receives the time when the first tokens of any text model were settled: to the
     * minute, or only the day in Jakarta when that is months ago; undefined when it was not before `minute`. The result
     * is one snapshot of the settlements. Token counts are exact at every boundary; medians are exact within the store's
     * stated error.
     */
    readonly read: (minute: Date, ask: (firstUse: Date | undefined) => HistoryQuery) => Effect.Effect<UsageHistory>
  }
>() {}

/** The rankings of the present minute, the same on all nodes: one node computes them once. */
export class RankingsCache extends Context.Tag("@tollgate/application/RankingsCache")<
  RankingsCache,
  {
    /** The document of the present minute in this node's memory, without a request to the database. */
    readonly inMemory: (window: Window) => Effect.Effect<Rankings | undefined>
    /**
     * The documents whose `generatedAt` is in the present minute of the database's clock. If there are none yet, one
     * caller over all nodes computes them for that clock's time and the others wait. If that caller fails, nothing is
     * cached and the next caller tries; a caller that dies is not waited for. Documents of an earlier minute are never
     * returned. Within a minute, a node returns the same objects again without a request to the database.
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
    // Most requests end here, without a timer and a fiber.
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
