/**
 * The public rankings of a window (spec: GET /api/rankings; gap H9).
 *
 *     enabled? ─▶ known window? ─▶ of this minute? ── yes ──▶ as they are
 *                                        └── no ──▶ read the history, compute, keep
 *
 * Rankings older than their minute are told to nobody: who cannot be given the present ones is told that they are
 * unavailable.
 */
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import { RankingsDisabled, RankingsUnavailable } from "@tollgate/domain/rankings/RankingsErrors"
import { type RankingsQuery, readWindow } from "@tollgate/domain/rankings/RankingsQuery"
import { fitsJson, rankUsage } from "@tollgate/domain/rankings/RankUsage"
import { questionFor } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { RankingsCache } from "../ports/RankingsCache.ts"
import { RankingsHistory } from "../ports/RankingsHistory.ts"
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
    return yield* cache
      .take(window, (now) => compute(history, window, now))
      .pipe(
        Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => new RankingsUnavailable({ reason: "too slow" }) }),
        Effect.catchAllDefect((defect) => unreadable(window, defect))
      )
  })

const compute = (
  history: RankingsHistory["Type"],
  window: Window,
  now: Date
): Effect.Effect<Rankings, RankingsUnavailable> =>
  Effect.flatMap(
    history.read(minuteOf(now), (firstUse) => questionFor(window, now, firstUse)),
    (facts) => {
      const made = rankUsage(facts, window, now)
      return fitsJson(made) ? Effect.succeed(made) : Effect.fail(new RankingsUnavailable({ reason: "too many tokens" }))
    }
  )

const unreadable = (window: Window, defect: unknown) =>
  Effect.zipRight(
    Effect.logError("the rankings could not be made", Cause.die(defect)).pipe(Effect.annotateLogs({ window })),
    Effect.fail(new RankingsUnavailable({ reason: "unreadable" }))
  )
