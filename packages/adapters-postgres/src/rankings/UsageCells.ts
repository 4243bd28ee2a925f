/**
 * Builds the SQL for usage cells. A cell is the usage of one model in one minute, hour or day. A time span of whole
 * minutes needs only a few cells: the full days in the span, the full hours in the partial days at its ends, and the
 * minutes in the partial hours at its ends.
 *
 *     span          |----------------------------------------|
 *     days      ·····[        day        ][        day       ]·····
 *     hours      [h][h]                                       [h]
 *     minutes  mmm                                               mmmm
 */
import { bucketsSplitBy } from "@tollgate/domain/rankings/UsageHistory"
import type { Interval } from "@tollgate/domain/rankings/Window"
import { COUNTED_TOKENS, DELTA_SAMPLES, IS_SAMPLE, MINUTE_SETTLED, SAMPLES } from "../ledger/SettlementRows.ts"

/**
 * The length of a day in Jakarta. The interval '1 day' has 23 or 25 hours when the clock changes in the time zone of
 * the session.
 */
export const ONE_DAY = "interval '24 hours'"

/** SQL rows of all grains. A grain is the length of a cell. The SQL function `cell_of` returns the start of a cell. */
export const GRAINS = "(VALUES ('minute'), ('hour'), ('day')) AS cell (grain)"

/**
 * Condition for cells that a fold deletes. A month and its comparison period cover 60 days together, so neither of them
 * has its begin or its end inside one of these cells.
 */
export const IS_OLD = "grain IN ('minute', 'hour') AND start < now() - interval '62 days'"

/**
 * Condition for speed cells that a fold deletes. Medians cover seven days, and these days can begin in the middle of a
 * calendar day.
 */
export const SPEED_IS_OLD = "grain IN ('minute', 'hour', 'day') AND start < now() - interval '9 days'"

/**
 * Returns a query for these columns of the cells between the first cut and the last cut. A cut is an instant at which
 * the history is divided. The table must have the columns `grain` and `start`. The selected cells cover each instant
 * once, and no cut lies inside a cell.
 */
export const cellsBetween = (cuts: ReadonlyArray<Date>, columns: string, table: string): string => {
  const days = bucketsSplitBy(cuts, "day")
  const hours = bucketsSplitBy(cuts, "hour")
  const within = `start >= ${instant(cuts.at(0))} AND start < ${instant(cuts.at(-1))}`
  return [
    `grain = 'day' AND ${within} AND ${isNone(days)}`,
    ...days.map((day) => `grain = 'hour' AND ${within} AND ${isIn(day)} AND ${isNone(hours)}`),
    ...hours.map((hour) => `grain = 'minute' AND ${within} AND ${isIn(hour)}`)
  ]
    .map((cells) => `SELECT ${columns} FROM ${table} WHERE ${cells}`)
    .join("\nUNION ALL ")
}

const instant = (at: Date | undefined): string => (at === undefined ? "NULL" : `'${at.toISOString()}'`)

const isIn = ({ from, to }: Interval): string => `start >= ${instant(from)} AND start < ${instant(to)}`

const isNone = (cells: ReadonlyArray<Interval>): string =>
  cells.length === 0 ? "true" : `start NOT IN (${cells.map(({ from }) => instant(from)).join(", ")})`

/**
 * SQL conditions that select the compared rows. Together they must select the usage of each cell completely or not at
 * all.
 */
interface Compared {
  /** Condition on `settled_at` of settlements. */
  readonly settled: string
  /** Condition on `minute` of `usage_delta` rows. */
  readonly added: string
  /** Condition on `grain` and `start` of cells. */
  readonly cells: string
}

/** Returns a query for the cells with tokens that differ from the settlements. */
export const wrongTokens = ({ added, cells, settled }: Compared): string => `
  SELECT grain, start, model_id FROM (
    SELECT grain, cell_of(grain, minute) AS start, model_id, tokens FROM (
      SELECT minute, model_id, sum(tokens) AS tokens FROM (
        SELECT ${MINUTE_SETTLED} AS minute, model_id, ${COUNTED_TOKENS} AS tokens FROM settlement WHERE ${settled}
        UNION ALL SELECT minute, model_id, -tokens FROM usage_delta WHERE ${added}) AS used
      GROUP BY 1, 2) AS to_be_folded
    CROSS JOIN ${GRAINS}
    UNION ALL SELECT grain, start, model_id, -tokens FROM usage_rollup
  ) AS compared WHERE ${cells} GROUP BY 1, 2, 3 HAVING sum(tokens) <> 0`

/** Returns a query for the cells with speeds that differ from the settlements. */
export const wrongSpeeds = ({ added, cells, settled }: Compared): string => `
  SELECT DISTINCT grain, start, model_id FROM (
    SELECT grain, start, model_id FROM (
      SELECT grain, cell_of(grain, minute) AS start, model_id, measure, bucket, samples FROM (
        SELECT minute, model_id, measure, bucket, sum(samples) AS samples FROM (
          SELECT ${MINUTE_SETTLED} AS minute, model_id, measure, bucket, 1 AS samples
          FROM settlement CROSS JOIN LATERAL ${SAMPLES} WHERE ${settled} AND ${IS_SAMPLE}
          UNION ALL SELECT minute, model_id, measure, bucket, -1
          FROM usage_delta CROSS JOIN LATERAL ${DELTA_SAMPLES} WHERE ${added}) AS measured
        GROUP BY 1, 2, 3, 4) AS to_be_folded
      CROSS JOIN ${GRAINS}
      UNION ALL SELECT grain, start, model_id, measure, histogram.bucket, -histogram.samples
      FROM speed_rollup CROSS JOIN LATERAL unnest(buckets, samples) AS histogram (bucket, samples)
    ) AS compared WHERE ${cells} GROUP BY grain, start, model_id, measure, bucket HAVING sum(samples) <> 0) AS wrong`
