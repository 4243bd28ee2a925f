/**
 * The sums beside the settlements are what the settlements say. They hold no money; what is wrong with them
 * `tollgate rankings rebuild` puts right.
 */
import { COUNTED_TOKENS, DELTA_SAMPLES, HOUR_SETTLED, IS_SAMPLE, SAMPLES } from "../batch/CountedUsage.ts"
import type { Invariant } from "./LedgerInvariants.ts"

/** How long speeds are kept; two hours more than are ever looked at would do. */
export const SPEEDS_KEPT = "interval '8 days'"

/** Models and hours of which the sums are not those of the settlements, among the hours and settlements these say. */
export const wrongHours = (hours: string, settled: string): string => `
  SELECT hour, model_id FROM (
    SELECT hour, model_id, tokens FROM usage_hour WHERE ${hours}
    UNION ALL SELECT hour, model_id, tokens FROM usage_delta WHERE ${hours}
    UNION ALL SELECT ${HOUR_SETTLED}, model_id, -(${COUNTED_TOKENS}) FROM settlement WHERE ${settled}
  ) AS counted GROUP BY hour, model_id HAVING sum(tokens) <> 0`

/** The same for speeds. */
export const wrongSpeeds = (hours: string, settled: string): string => `
  SELECT hour, model_id FROM (
    SELECT hour, model_id, measure, bucket, samples FROM speed_hour WHERE ${hours}
    UNION ALL SELECT hour, model_id, measure, bucket, 1 FROM usage_delta CROSS JOIN LATERAL ${DELTA_SAMPLES} WHERE ${hours}
    UNION ALL SELECT ${HOUR_SETTLED}, model_id, measure, bucket, -1 FROM settlement CROSS JOIN LATERAL ${SAMPLES}
      WHERE ${settled} AND ${IS_SAMPLE}
  ) AS counted GROUP BY hour, model_id, measure, bucket HAVING sum(samples) <> 0`

const LAST_WEEK = "date_bin('1 hour', now(), 'epoch') - interval '7 days'"

export const rollUpInvariants: ReadonlyArray<Invariant> = [
  {
    id: "usage-is-settled",
    invariant: "The tokens of every model and hour, folded and not yet folded, are those of its settlements.",
    violations: `SELECT count(*) FROM (${wrongHours("true", "true")}) AS wrong`
  },
  {
    id: "speeds-are-settled",
    invariant: "The speeds of every model and hour of the last seven days are those of its settlements.",
    violations: `SELECT count(*) FROM (SELECT DISTINCT hour, model_id FROM (
      ${wrongSpeeds(`hour >= ${LAST_WEEK}`, `settled_at >= ${LAST_WEEK}`)}) AS wrong) AS wrong_hours`
  }
]
