/**
 * The sums beside the settlements are what the settlements say, in every grain. They hold no money; what is wrong with
 * them `tollgate rankings rebuild` puts right.
 */
import { COUNTED_TOKENS, DELTA_SAMPLES, IS_SAMPLE, MINUTE_SETTLED, SAMPLES } from "../ledger/SettlementRows.ts"
import { GRAINS } from "../rankings/UsageGrains.ts"
import type { Invariant } from "./LedgerInvariants.ts"

/** What is to be compared, as conditions. Together they must hold whole cells, or none of a cell. */
export interface Compared {
  /** Over `settled_at`. */
  readonly settled: string
  /** Over `minute`, of what is not folded. */
  readonly added: string
  /** Over `grain` and `start`. */
  readonly cells: string
}

/** Cells of which the tokens are not those of the settlements. */
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

/** The same for speeds. */
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

const SPEEDS_FROM = "cell_of('day', now()) - interval '7 days'"

export const rollUpInvariants: ReadonlyArray<Invariant> = [
  {
    id: "usage-is-settled",
    invariant: "The tokens of every model and minute, hour and day, folded and not, are those of its settlements.",
    violations: `SELECT count(*) FROM (
      ${wrongTokens({
        settled: "true",
        added: "true",
        cells: "(grain = 'day' OR start >= now() - interval '61 days')"
      })}) AS wrong`
  },
  {
    id: "speeds-are-settled",
    invariant: "The speeds of every model and minute, hour and day of the last week are those of its settlements.",
    violations: `SELECT count(*) FROM (
      ${wrongSpeeds({
        settled: `settled_at >= ${SPEEDS_FROM}`,
        added: `minute >= ${SPEEDS_FROM}`,
        cells: `start >= ${SPEEDS_FROM}`
      })}) AS wrong`
  }
]
