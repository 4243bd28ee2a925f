/**
 * The models with most tokens in a window (gap H1).
 */
import { changeSince } from "./Change.ts"
import type { LeaderboardEntry } from "./Rankings.ts"
import { byTokens, isListed, isVisible, named, type Standing } from "./Standing.ts"

const LONGEST = 50

/** The standings that are shown, best first. Who used nothing in the window has no place in it. */
export const leadersOf = (standings: ReadonlyArray<Standing>): ReadonlyArray<Standing> =>
  standings
    .filter(({ model, tokens }) => isVisible(model) && tokens > 0n)
    .sort(byTokens)
    .slice(0, LONGEST)

export const leaderboardOf = (leaders: ReadonlyArray<Standing>): ReadonlyArray<LeaderboardEntry> =>
  leaders.map(({ model, tokens, previousTokens }, i) => ({
    rank: i + 1,
    ...named(model),
    listed: isListed(model),
    tokens,
    previousTokens,
    ...changeSince(previousTokens, tokens)
  }))
