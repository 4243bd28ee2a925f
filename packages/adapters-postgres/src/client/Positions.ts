/**
 * Builds the SQL that reads a list page by page, newest or oldest first. Each list is ordered by a time and an id.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { Position } from "@tollgate/domain/validation/Cursor"
import type { TimeRange } from "@tollgate/domain/validation/Days"
import * as Effect from "effect/Effect"

export interface PositionRow {
  readonly at_micros: bigint
  readonly position_id: string
}

export const toPosition = ({ at_micros, position_id }: PositionRow): Position => ({
  atMicros: at_micros,
  id: position_id
})

/** The SQL of a list that is ordered by the columns `at` and `id`. */
export interface ListSql {
  /** The columns of a {@link PositionRow}. */
  readonly position: Fragment
  /** The condition for rows in a range and after a position of a list with the newest row first. */
  readonly below: (after: Position | undefined, range?: TimeRange) => Fragment
  readonly newestFirst: Fragment
  /** The condition for rows after a position of a list with the oldest row first. */
  readonly above: (after: Position | undefined) => Fragment
  readonly oldestFirst: Fragment
}

/** Returns the SQL of a list. `at` and `id` are column names. */
export const listSql = (at: string, id: string): Effect.Effect<ListSql, never, SqlClient.SqlClient> =>
  Effect.map(SqlClient.SqlClient, (sql) => {
    const [time, key] = [sql.literal(at), sql.literal(id)]
    const pair = ({ atMicros, id }: Position) =>
      sql`(timestamptz 'epoch' + ${atMicros} * interval '1 microsecond', ${id}::uuid)`
    return {
      position: sql`(extract(epoch FROM ${time}) * 1000000)::bigint AS at_micros, ${key} AS position_id`,
      below: (after, range) =>
        sql.and([
          sql`true`,
          ...(after === undefined ? [] : [sql`(${time}, ${key}) < ${pair(after)}`]),
          ...(range?.from === undefined ? [] : [sql`${time} >= ${range.from}`]),
          ...(range?.before === undefined ? [] : [sql`${time} < ${range.before}`])
        ]),
      newestFirst: sql`ORDER BY ${time} DESC, ${key} DESC`,
      above: (after) => (after === undefined ? sql`true` : sql`(${time}, ${key}) > ${pair(after)}`),
      oldestFirst: sql`ORDER BY ${time}, ${key}`
    }
  })
