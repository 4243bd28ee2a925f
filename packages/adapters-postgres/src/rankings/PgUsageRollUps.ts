/**
 * Stores usage in cells. A cell is the usage of one model in one minute, hour or day. The statement that writes
 * settlements inserts rows into `usage_delta`. A fold adds these rows to the cells. A rebuild recounts the cells from
 * the settlements.
 *
 * A fold deletes rows and adds them to their cells in one statement, so a crash neither loses a row nor adds it twice.
 * Only one node folds at a time. A rebuild deletes the cells and the `usage_delta` rows of a day, and recounts the
 * settlements of that day. It blocks folds, and it reads the rows and the settlements in one snapshot. Therefore each
 * deleted row belongs to a recounted settlement.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type Rebuilt, UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { withoutTimeLimits } from "../client/ResponseTimeout.ts"
import { transact } from "../client/Transact.ts"
import { COUNTED_TOKENS, DELTA_SAMPLES, IS_SAMPLE, MINUTE_SETTLED, SAMPLES } from "../ledger/SettlementRows.ts"
import { GRAINS, IS_OLD, ONE_DAY, SPEED_IS_OLD, wrongSpeeds, wrongTokens } from "./UsageCells.ts"

/** Key of the advisory lock. The number is arbitrary, but must be the same in every version of this program. */
const FOLD_LOCK = 8_436_201_776n
const BATCH_SIZE = 20_000

export const layer: Layer.Layer<UsageRollUps, never, SqlClient.SqlClient> = Layer.effect(
  UsageRollUps,
  Effect.map(SqlClient.SqlClient, (sql) => {
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return { fold: withSql(fold), rebuild: withSql(rebuild) }
  })
)

/**
 * Folds rows in batches, each in its own transaction, until no row is left or another node folds. Returns the number of
 * folded rows.
 */
const fold: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.suspend(() =>
  Effect.flatMap(foldBatch, (folded) =>
    folded < BATCH_SIZE ? Effect.succeed(folded) : Effect.map(fold, (more) => folded + more)
  )
)

const foldBatch: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [lock] = yield* sql<{ free: boolean }>`SELECT pg_try_advisory_xact_lock(${FOLD_LOCK}) AS free`
  if (lock?.free !== true) return 0
  const [row] = yield* sql.unsafe<{ folded: number }>(FOLD, [BATCH_SIZE])
  return row?.folded ?? 0
}).pipe(transact)

/** Adds tokens to cells. Reads the columns `minute`, `model_id` and `tokens` of the table expression `used`. */
const TOKENS_INTO_CELLS = `
    INSERT INTO usage_rollup AS kept (grain, start, model_id, tokens)
    SELECT grain, start, model_id, sum(tokens)
    FROM (SELECT grain, cell_of(grain, minute) AS start, model_id, tokens FROM used CROSS JOIN ${GRAINS}) AS cells
    WHERE NOT (${IS_OLD}) GROUP BY 1, 2, 3 HAVING sum(tokens) > 0`

/**
 * Adds speed samples to cells. Reads the columns `minute`, `model_id`, `measure`, `bucket` and `samples` of the table
 * expression `measured`.
 */
const SAMPLES_INTO_CELLS = `
    INSERT INTO speed_rollup AS kept (grain, start, model_id, measure, buckets, samples)
    SELECT grain, start, model_id, measure, array_agg(bucket ORDER BY bucket), array_agg(samples ORDER BY bucket)
    FROM (
      SELECT grain, start, model_id, measure, bucket, sum(samples)::int AS samples
      FROM (SELECT grain, cell_of(grain, minute) AS start, measured.* FROM measured CROSS JOIN ${GRAINS}) AS cells
      WHERE NOT (${SPEED_IS_OLD}) GROUP BY 1, 2, 3, 4, 5) AS histograms
    GROUP BY 1, 2, 3, 4`

const FOLD = `
  WITH taken AS (
    DELETE FROM usage_delta WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_delta LIMIT $1))
    RETURNING minute, model_id, tokens, tps, ttft
  ), used AS (
    SELECT minute, model_id, sum(tokens) AS tokens FROM taken GROUP BY 1, 2
  ), measured AS (
    SELECT minute, model_id, measure, bucket, count(*) AS samples
    FROM taken CROSS JOIN LATERAL ${DELTA_SAMPLES} GROUP BY 1, 2, 3, 4
  ), sums AS (${TOKENS_INTO_CELLS}
    ON CONFLICT (grain, start, model_id) DO UPDATE SET tokens = kept.tokens + excluded.tokens
  ), speeds AS (${SAMPLES_INTO_CELLS}
    ON CONFLICT (grain, start, model_id, measure) DO UPDATE SET (buckets, samples) = (
      SELECT array_agg(bucket ORDER BY bucket), array_agg(samples ORDER BY bucket) FROM (
        SELECT bucket, sum(samples)::int AS samples FROM (
          SELECT * FROM unnest(kept.buckets, kept.samples)
          UNION ALL SELECT * FROM unnest(excluded.buckets, excluded.samples)) AS either (bucket, samples)
        GROUP BY bucket) AS merged)
  ), old_sums AS (DELETE FROM usage_rollup WHERE ${IS_OLD}
  ), old_speeds AS (DELETE FROM speed_rollup WHERE ${SPEED_IS_OLD})
  SELECT count(*)::int AS folded FROM taken`

/**
 * Rebuilds the cells of each day in a separate transaction, so that an interruption does not undo the finished days.
 */
const rebuild: Effect.Effect<Rebuilt, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const days = yield* transact(Effect.zipRight(withoutTimeLimits, sql.unsafe<{ day: Date }>(DAYS)))
  const corrected = yield* Effect.reduce(days, 0, (sum, { day }) => Effect.map(rebuildDay(day), (wrong) => sum + wrong))
  return { days: days.length, corrected }
})

/**
 * Selects all days from the first to the last use, including days without settlements, because their cells may be
 * wrong.
 */
const DAYS = `
  SELECT generate_series(cell_of('day', min(first)), cell_of('day', max(last)), ${ONE_DAY}) AS day
  FROM (
    SELECT min(start) AS first, max(start) AS last FROM usage_rollup
    UNION ALL SELECT min(minute), max(minute) FROM usage_delta
    UNION ALL SELECT min(start), max(start) FROM speed_rollup
    UNION ALL SELECT min(settled_at), max(settled_at) FROM settlement) AS ends
  HAVING min(first) IS NOT NULL`

const rebuildDay = (day: Date): Effect.Effect<number, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
    yield* withoutTimeLimits
    // The lock comes first, because the first query fixes the snapshot of the transaction.
    yield* sql`LOCK TABLE usage_rollup IN SHARE ROW EXCLUSIVE MODE`
    const params = [day.toISOString()]
    const [row] = yield* sql.unsafe<{ wrong: number }>(WRONG, params)
    yield* sql.unsafe(`DELETE FROM usage_rollup WHERE ${inDay("start")}`, params)
    yield* sql.unsafe(`DELETE FROM speed_rollup WHERE ${inDay("start")}`, params)
    yield* sql.unsafe(`DELETE FROM usage_delta WHERE ${inDay("minute")}`, params)
    yield* sql.unsafe(COUNT_TOKENS, params)
    yield* sql.unsafe(COUNT_SPEEDS, params)
    return row?.wrong ?? 0
  }).pipe(transact)

const inDay = (time: string): string => `${time} >= $1::timestamptz AND ${time} < $1::timestamptz + ${ONE_DAY}`

const cellsOfDay = (isOld: string) => ({
  settled: inDay("settled_at"),
  added: inDay("minute"),
  cells: `${inDay("start")} AND NOT (${isOld})`
})

const WRONG = `
  SELECT count(*)::int AS wrong FROM (
    ${wrongTokens(cellsOfDay(IS_OLD))} UNION ${wrongSpeeds(cellsOfDay(SPEED_IS_OLD))}) AS either`

const COUNT_TOKENS = `
  WITH used AS (
    SELECT ${MINUTE_SETTLED} AS minute, model_id, sum(${COUNTED_TOKENS}) AS tokens
    FROM settlement WHERE ${inDay("settled_at")} GROUP BY 1, 2)
  ${TOKENS_INTO_CELLS}`

const COUNT_SPEEDS = `
  WITH measured AS (
    SELECT ${MINUTE_SETTLED} AS minute, model_id, measure, bucket, count(*) AS samples
    FROM settlement CROSS JOIN LATERAL ${SAMPLES} WHERE ${inDay("settled_at")} AND ${IS_SAMPLE} GROUP BY 1, 2, 3, 4)
  ${SAMPLES_INTO_CELLS}`
