/**
 * The rankings of a window, as they follow from the history of usage and the instant they are made at.
 */
import * as Tokens from "../money/Tokens.ts"
import { authorSharesOf } from "./AuthorShares.ts"
import { MOST_SHOWN } from "./Change.ts"
import { fastestOf } from "./Fastest.ts"
import { leaderboardOf, leadersOf } from "./Leaderboard.ts"
import type { Rankings } from "./Rankings.ts"
import { MOST_KEYS, pointsOf } from "./Series.ts"
import { trendingOf } from "./Trending.ts"
import { RECENT_DAYS, tokensOver, type UsageHistory } from "./UsageHistory.ts"
import { bucketsOf, daysBefore, rangeOf, unitOf, Window } from "./Window.ts"

/** The rankings of one instant. A window whose counts JSON could not tell exactly is left out. */
export type RankingsByWindow = ReadonlyMap<Window, Rankings>

/** `history` answers `questionFor` this instant. */
export const rankWindows = (history: UsageHistory, now: Date): RankingsByWindow =>
  new Map(
    Window.literals
      .map((window) => [window, rankUsage(history, window, now)] as const)
      .filter(([, rankings]) => fitsJson(rankings))
  )

/** `history` answers `questionFor` this instant. */
export const rankUsage = (history: UsageHistory, window: Window, now: Date): Rankings => {
  const range = rangeOf(window, now, history.firstUse)
  const { from, to, previousFrom, dataSince } = range
  const recent = daysBefore(to, RECENT_DAYS)
  const before = daysBefore(recent, RECENT_DAYS)
  const over = tokensOver(history)

  const standings = history.models.map((model) => ({
    model,
    tokens: over(range, model),
    previousTokens: previousFrom === null ? null : over({ from: previousFrom, to: from }, model)
  }))
  const momenta = history.models.map((model) => ({
    model,
    tokens: over({ from: recent, to }, model),
    previousTokens: over({ from: before, to: recent }, model)
  }))
  const leaders = leadersOf(standings)
  const keys = leaders.slice(0, MOST_KEYS).map(({ model }) => model)
  const buckets = dataSince === null ? [] : bucketsOf(unitOf(window), range)
  const tokens = Tokens.sum(standings.map((standing) => standing.tokens))
  const previousTokens = Tokens.sum(standings.map((standing) => standing.previousTokens ?? Tokens.zero))

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
    authors: authorSharesOf(standings),
    trending: trendingOf(momenta),
    fastest: fastestOf(history.models)
  }
}

/** Whether every count is one that all readers of JSON take for what it is. */
export const fitsJson = ({ totals, trending }: Rankings): boolean =>
  [totals, ...trending].every(({ tokens }) => tokens <= MOST_SHOWN) && (totals.previousTokens ?? 0n) <= MOST_SHOWN
