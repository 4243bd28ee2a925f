/**
 * The public rankings of a window (spec: GET /api/rankings; gap H9).
 *
 *     enabled? ─▶ known window? ─▶ of this minute? ── yes ──▶ as they are
 *                                        └── no ──▶ read the history, compute all windows, keep
 *
 * Rankings older than their minute are told to nobody: who cannot be given the present ones is told that they are
 * unavailable.
 */

import {
  RankingsDisabled,
  type RankingsQuery,
  RankingsUnavailable,
  readWindow
} from "@tollgate/domain/rankings/RankingsQuery"
import { type RankingsByWindow, rankWindows } from "@tollgate/domain/rankings/RankUsage"
import { historyQueryFor } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf } from "@tollgate/domain/rankings/Window"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { RankingsCache } from "./RankingsCache.ts"
import { RankingsHistory } from "./RankingsHistory.ts"
import { RankingsPolicy } from "./RankingsPolicy.ts"

/** Nobody waits longer for a document than this. */
const PATIENCE = "10 seconds"

export const readRankings = (query: RankingsQuery) =>
  Effect.gen(function* () {
    if (!(yield* RankingsPolicy).enabled) return yield* new RankingsDisabled()
    const window = yield* readWindow(query)
    const cache = yield* RankingsCache
    // Most requests end here: no timer, no fiber of its own.
    const atHand = yield* cache.atHand(window)
    if (atHand !== undefined) return atHand
    const history = yield* RankingsHistory
    const made = yield* cache
      .take((now) => compute(history, now))
      .pipe(
        Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => new RankingsUnavailable({ reason: "too slow" }) }),
        Effect.catchAllDefect(unreadable)
      )
    return made.get(window) ?? (yield* new RankingsUnavailable({ reason: "too many tokens" }))
  })

const compute = (history: RankingsHistory["Type"], now: Date): Effect.Effect<RankingsByWindow> =>
  Effect.map(
    history.read(minuteOf(now), (firstUse) => historyQueryFor(now, firstUse)),
    (facts) => rankWindows(facts, now)
  )

const unreadable = (defect: unknown) =>
  Effect.zipRight(
    Effect.logError("the rankings could not be made", Cause.die(defect)),
    Effect.fail(new RankingsUnavailable({ reason: "unreadable" }))
  )
