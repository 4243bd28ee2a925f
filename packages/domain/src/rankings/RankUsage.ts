/**
 * Computes the rankings of each window from the usage history.
 */
import * as Tokens from "../money/Tokens.ts"
import { authorSharesOf } from "./AuthorShares.ts"
import { fastestOf } from "./Fastest.ts"
import { leaderboardOf, leadersOf, MAX_SERIES_KEYS, pointsOf } from "./Leaderboard.ts"
import { MAX_JSON_INTEGER } from "./ModelUsage.ts"
import type { Rankings } from "./Rankings.ts"
import { trendingOf } from "./Trending.ts"
import { RECENT_DAYS, tokensOver, type UsageHistory } from "./UsageHistory.ts"
import { bucketsOf, daysBefore, rangeOf, unitOf, Window } from "./Window.ts"

/** The rankings by window. A window is absent if one of its counts has no exact JSON number. */
export type RankingsByWindow = ReadonlyMap<Window, Rankings>

/** Computes the rankings of all windows at `now`. `history` is the result of the query of `historyQueryFor`. */
export const rankWindows = (history: UsageHistory, now: Date): RankingsByWindow =>
  new Map(
    Window.literals
      .map((window) => [window, rankUsage(history, window, now)] as const)
      .filter(([, rankings]) => fitsJson(rankings))
  )

/** Computes the rankings of one window at `now`. `history` is the result of the query of `historyQueryFor`. */
export const rankUsage = (history: UsageHistory, window: Window, now: Date): Rankings => {
  const range = rangeOf(window, now, history.firstUse)
  const { from, to, previousFrom, dataSince } = range
  const recent = daysBefore(to, RECENT_DAYS)
  const before = daysBefore(recent, RECENT_DAYS)
  const over = tokensOver(history)

  const usages = history.models.map((model) => ({
    model,
    tokens: over(range, model),
    previousTokens: previousFrom === null ? null : over({ from: previousFrom, to: from }, model)
  }))
  const recentUsages = history.models.map((model) => ({
    model,
    tokens: over({ from: recent, to }, model),
    previousTokens: over({ from: before, to: recent }, model)
  }))
  const leaders = leadersOf(usages)
  const keys = leaders.slice(0, MAX_SERIES_KEYS).map(({ model }) => model)
  const buckets = dataSince === null ? [] : bucketsOf(unitOf(window), range)
  const tokens = Tokens.sum(usages.map((usage) => usage.tokens))
  const previousTokens = Tokens.sum(usages.map((usage) => usage.previousTokens ?? Tokens.zero))

  return {
    schemaVersion: 1,
    generatedAt: now,
    window,
    modality: "text",
    range: { from, to, previousFrom, dataSince },
    totals: { tokens, previousTokens: previousFrom === null ? null : previousTokens },
    leaderboard: leaderboardOf(leaders),
    other: { tokens: Tokens.Tokens(tokens - Tokens.sum(leaders.map((leader) => leader.tokens))) },
    series: {
      bucket: unitOf(window),
      keys: keys.map(({ publicName }) => publicName),
      points: pointsOf(buckets, keys, history.models, over)
    },
    authors: authorSharesOf(usages),
    trending: trendingOf(recentUsages),
    fastest: fastestOf(history.models)
  }
}

/**
 * Returns whether every count in the rankings has an exact JSON number. The counts that are not compared are parts of a
 * total.
 */
export const fitsJson = ({ totals, trending }: Rankings): boolean =>
  [totals, ...trending].every(({ tokens }) => tokens <= MAX_JSON_INTEGER) &&
  (totals.previousTokens ?? 0n) <= MAX_JSON_INTEGER
