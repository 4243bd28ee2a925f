/**
 * Usage by model and hour: what transactions have left behind is folded into the hours, or all of it counted again.
 *
 * A fold takes rows away and adds them to their hours in one statement, so that a crash leaves both or neither, and one
 * folds at a time. A rebuild keeps folds out and sees one moment of everything: the settlements up to it, and exactly
 * the rows that those have added.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type Rebuilt, UsageRollUps } from "@tollgate/application/ports/UsageRollUps"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { COUNTED_TOKENS, DELTA_SAMPLES, HOUR_SETTLED, IS_SAMPLE, SAMPLES } from "../batch/CountedUsage.ts"
import { transact } from "../client/Transact.ts"
import { SPEEDS_KEPT, wrongHours, wrongSpeeds } from "./RollUpInvariants.ts"

/** Any number, the same in every version of this program. */
const FOLDING = 8_436_201_776n
const AT_ONCE = 20_000

export const layer: Layer.Layer<UsageRollUps, never, SqlClient.SqlClient> = Layer.effect(
  UsageRollUps,
  Effect.map(SqlClient.SqlClient, (sql) => {
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return { fold: withSql(fold), rebuild: withSql(rebuild) }
  })
)

const fold: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [lock] = yield* sql<{ free: boolean }>`SELECT pg_try_advisory_xact_lock(${FOLDING}) AS free`
  if (lock?.free !== true) return 0
  const [row] = yield* sql.unsafe<{ folded: number }>(FOLD, [AT_ONCE])
  return row?.folded ?? 0
}).pipe(transact)

const FOLD = `
  WITH taken AS (
    DELETE FROM usage_delta WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_delta LIMIT $1))
    RETURNING hour, model_id, tokens, tps, ttft
  ), hours AS (
    INSERT INTO usage_hour AS kept (hour, model_id, tokens)
    SELECT hour, model_id, sum(tokens) FROM taken GROUP BY 1, 2 HAVING sum(tokens) > 0
    ON CONFLICT (hour, model_id) DO UPDATE SET tokens = kept.tokens + excluded.tokens
  ), speeds AS (
    INSERT INTO speed_hour AS kept (hour, model_id, measure, bucket, samples)
    SELECT hour, model_id, measure, bucket, count(*) FROM taken CROSS JOIN LATERAL ${DELTA_SAMPLES} GROUP BY 1, 2, 3, 4
    ON CONFLICT (hour, model_id, measure, bucket) DO UPDATE SET samples = kept.samples + excluded.samples
  ), old AS (
    DELETE FROM speed_hour WHERE hour < clock_timestamp() - ${SPEEDS_KEPT})
  SELECT count(*)::int AS folded FROM taken`

/** A day at a time, each in a transaction of its own: a rebuild that is broken off has done what it has done. */
const rebuild: Effect.Effect<Rebuilt, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const days = yield* transact(Effect.zipRight(unhurried, sql.unsafe<{ day: Date }>(DAYS)))
  const corrected = yield* Effect.reduce(days, 0, (sum, { day }) => Effect.map(rebuildDay(day), (wrong) => sum + wrong))
  return { days: days.length, corrected }
})

/** Also days whose settlements are gone, or never were. */
const DAYS = `
  SELECT generate_series(
    date_bin('1 day', min(first), 'epoch'), date_bin('1 day', max(last), 'epoch'), interval '1 day') AS day
  FROM (
    SELECT min(hour) AS first, max(hour) AS last FROM usage_hour
    UNION ALL SELECT min(hour), max(hour) FROM usage_delta
    UNION ALL SELECT min(hour), max(hour) FROM speed_hour
    UNION ALL SELECT min(settled_at), max(settled_at) FROM settlement) AS ends
  HAVING min(first) IS NOT NULL`

const rebuildDay = (day: Date): Effect.Effect<number, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
    yield* unhurried
    // The lock comes first: what a transaction sees is settled by its first query.
    yield* sql`LOCK TABLE usage_hour IN SHARE ROW EXCLUSIVE MODE`
    const params = [day.toISOString()]
    const [row] = yield* sql.unsafe<{ wrong: number }>(WRONG, params)
    for (const table of ["usage_hour", "speed_hour", "usage_delta"]) {
      yield* sql.unsafe(`DELETE FROM ${table} WHERE ${inDay("hour")}`, params)
    }
    yield* sql.unsafe(COUNT_HOURS, params)
    yield* sql.unsafe(COUNT_SPEEDS, params)
    return row?.wrong ?? 0
  }).pipe(transact)

const inDay = (time: string): string => `${time} >= $1::timestamptz AND ${time} < $1::timestamptz + interval '1 day'`

const WRONG = `
  SELECT count(DISTINCT (hour, model_id))::int AS wrong FROM (
    ${wrongHours(inDay("hour"), inDay("settled_at"))}
    UNION ALL SELECT hour, model_id FROM (
      ${wrongSpeeds(
        `${inDay("hour")} AND hour >= now() - ${SPEEDS_KEPT}`,
        `${inDay("settled_at")} AND ${HOUR_SETTLED} >= now() - ${SPEEDS_KEPT}`
      )}) AS speeds
  ) AS either`

const COUNT_HOURS = `
  INSERT INTO usage_hour (hour, model_id, tokens)
  SELECT ${HOUR_SETTLED}, model_id, sum(${COUNTED_TOKENS}) FROM settlement WHERE ${inDay("settled_at")}
  GROUP BY 1, 2 HAVING sum(${COUNTED_TOKENS}) > 0`

const COUNT_SPEEDS = `
  INSERT INTO speed_hour (hour, model_id, measure, bucket, samples)
  SELECT ${HOUR_SETTLED}, model_id, measure, bucket, count(*) FROM settlement CROSS JOIN LATERAL ${SAMPLES}
  WHERE ${inDay("settled_at")} AND ${HOUR_SETTLED} >= now() - ${SPEEDS_KEPT} AND ${IS_SAMPLE}
  GROUP BY 1, 2, 3, 4`

/** Longer than any request may take. */
const unhurried = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SET LOCAL statement_timeout = 0`)
