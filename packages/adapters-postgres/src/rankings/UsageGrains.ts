/**
 * Usage is summed by the minute, the hour and the day, so that any span of whole minutes is made of few cells: the days
 * in it, the hours of the days it divides, the minutes of the hours it divides.
 *
 *     span          |----------------------------------------|
 *     days      ·····[        day        ][        day       ]·····
 *     hours      [h][h]                                       [h]
 *     minutes  mmm                                               mmmm
 */
import { bucketsSplitBy } from "@tollgate/domain/rankings/UsageHistory"
import type { Interval } from "@tollgate/domain/rankings/Window"

/** The grains as rows. The function `cell_of` says when a cell began. */
export const GRAINS = "(VALUES ('minute'), ('hour'), ('day')) AS cell (grain)"

/** Cells that are not kept: no window ends in one, a month and what it is compared with being sixty days. */
export const IS_OLD = "grain IN ('minute', 'hour') AND start < now() - interval '62 days'"

/** The same of speeds: medians are of seven days, and an end divides an eighth. */
export const SPEED_IS_OLD = "grain IN ('minute', 'hour', 'day') AND start < now() - interval '9 days'"

/**
 * The cells that lie between the first cut and the last with no cut inside, each instant in one of them: as rows of these
 * columns, of a table with a `grain` and a `start`.
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
