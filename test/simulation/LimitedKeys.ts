/**
 * The limits of API keys in a simulated history, and the sessions outside the nodes that change the limits, lock the
 * rows of limited keys, or set the clock of the database.
 */
import { DAY_MILLIS, HOUR_MILLIS, MINUTE_MILLIS } from "@tollgate/domain/rankings/JakartaCalendar"
import { changeLimits, type LimitColumns, NO_LIMITS } from "./database/CountedKeys.ts"
import type { Database } from "./database/Database.ts"
import type { RequestRow } from "./database/Rows.ts"
import { lockFor } from "./OtherSessions.ts"
import type { Random } from "./Random.ts"

/** Every sixteenth seed has limited keys. */
export const LIMITED_SEEDS = 16
export const hasLimitedKeys = (seed: number): boolean => seed % LIMITED_SEEDS === 0

/**
 * The prices and the pay-as-you-go balances of a history with limited keys are larger by this factor, because budgets
 * are in micro-USD.
 */
export const LIMITED_SCALE = 1_000n

/** Sets the time of day. In some histories a day or a month ends in Jakarta soon. */
export const setTimeOfDay = (database: Database, random: Random): void => {
  const [month, date] = random.pick([
    [6, 31],
    [6, 15],
    [6, 15]
  ]) as readonly [number, number]
  const midnight = Date.UTC(2026, month, date, 17)
  const before = random.chance(0.5) ? random.integer(1, 3_000) : 5 * HOUR_MILLIS
  database.timeOfDayMillis = midnight - before
}

const budget = (random: Random): bigint => BigInt(Math.floor(random.skewed(0, random.pick([20, 200, 2_000]))))

const drawn = (random: Random, hasBudget: boolean, hasRate: boolean): LimitColumns => {
  const some = <A>(has: boolean, draw: () => A): A | null => (has && random.chance(0.5) ? draw() : null)
  return {
    perDay: some(hasBudget, () => budget(random)),
    perMonth: some(hasBudget, () => budget(random)),
    total: hasBudget ? budget(random) : null,
    requests: some(hasRate, () => random.integer(1, 8)),
    tokens: some(hasRate, () => BigInt(random.integer(100, 10_000))),
    concurrent: hasRate ? random.integer(1, 5) : null
  }
}

/**
 * Draws the limits of a key: none, rates only, budgets only, or both. If a stream of the key runs, the drawn limits
 * often remove the budget of the key, or add a budget.
 */
export const limitsOf = (random: Random, stream?: RequestRow): LimitColumns => {
  if (stream !== undefined && stream.keyTokens !== null && random.chance(0.7))
    return stream.keyPico === null ? drawn(random, true, random.chance(0.5)) : NO_LIMITS
  const [hasBudget, hasRate] = random.pick([
    [false, false],
    [false, true],
    [false, true],
    [true, false],
    [true, true]
  ]) as readonly [boolean, boolean]
  return hasBudget || hasRate ? drawn(random, hasBudget, hasRate) : NO_LIMITS
}

/** Changes the limits of a key. */
export const limitKey = (database: Database, keyId: string, limits: LimitColumns): void => {
  const pauseMillis = database.time.random.skewed(0, 30)
  database.runElsewhere("limits", (transaction) => changeLimits(database, transaction, keyId, limits, pauseMillis))
}

export const lockKey = (database: Database, keyId: string): void =>
  lockFor(database, database.countedKeys.cells.get(keyId))

/** Draws an amount by which the clock of the database is set forward or back. */
export const clockChange = (random: Random): number =>
  random.pick([-1, -1, 1]) * Math.floor(random.skewed(0, random.pick([2, 3 * MINUTE_MILLIS, 2 * DAY_MILLIS])))
