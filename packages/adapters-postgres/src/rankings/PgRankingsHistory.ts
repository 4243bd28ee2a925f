/**
 * Reads the usage history from Postgres, in one snapshot: the sums per minute, hour and day, and the `usage_delta` rows
 * that are not yet added to the sums.
 *
 * Token counts are exact. Speeds come from a histogram. A value below 100 (10 tokens per second, 100 ms) has its own
 * bucket, so a median below 100 is exact. From 100 on, each bucket ends about 1 % above its start, so the error of a
 * median is below 1 %.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { RankingsHistory } from "@tollgate/application/rankings/ReadRankings"
import { rankedKinds } from "@tollgate/domain/inference/InferenceRequest"
import * as Tokens from "@tollgate/domain/money/Tokens"
import type { HistoryQuery, ModelHistory, ModelSpeed, UsageHistory } from "@tollgate/domain/rankings/UsageHistory"
import type { Interval } from "@tollgate/domain/rankings/Window"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { transact } from "../client/Transact.ts"
import { DELTA_SAMPLES } from "../ledger/SettlementRows.ts"
import { cellsBetween, ONE_DAY } from "./UsageCells.ts"

export const layer: Layer.Layer<RankingsHistory, never, SqlClient.SqlClient> = Layer.effect(
  RankingsHistory,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    read: (minute, ask) =>
      Effect.gen(function* () {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
        // Parallel workers would take processor time from requests.
        yield* sql`SET LOCAL max_parallel_workers_per_gather = 0`
        const firstUse = yield* readFirstUse(minute)
        const query = ask(firstUse)
        const models = yield* sql<ModelRow>`
          SELECT id, public_name, display_name, author, hidden, retired FROM model WHERE kind IN ${sql.in(rankedKinds)}`
        const tokens = yield* readTokens(query)
        const speeds = yield* readSpeeds(query.speeds)
        return toHistory(firstUse, query, models, tokens, speeds)
      }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
  }))
)

interface ModelRow {
  readonly id: string
  readonly public_name: string
  readonly display_name: string
  readonly author: string
  readonly hidden: boolean
  readonly retired: boolean
}

const readFirstUse = (minute: Date) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql.unsafe<{ first: Date | null }>(FIRST_USE)
    const first = row?.first ?? undefined
    return first !== undefined && first < minute ? first : undefined
  })

const RANKED = `JOIN model ON model.id = model_id AND model.kind IN (${rankedKinds.map((kind) => `'${kind}'`).join(", ")})`

// Sums per day are kept permanently, but sums per minute are deleted after 62 days. The result is the first minute of
// use, or the first day of use if the minutes of that day have been deleted.
const FIRST_USE = `
  WITH used AS (
    SELECT min(day) AS day FROM (
      (SELECT start AS day FROM usage_rollup ${RANKED} WHERE grain = 'day' ORDER BY start LIMIT 1)
      UNION ALL SELECT cell_of('day', min(minute)) FROM usage_delta ${RANKED} WHERE tokens > 0) AS either)
  SELECT coalesce(
    least(
      (SELECT start FROM usage_rollup ${RANKED}
        WHERE grain = 'minute' AND start >= day AND start < day + ${ONE_DAY} ORDER BY start LIMIT 1),
      (SELECT min(minute) FROM usage_delta ${RANKED} WHERE tokens > 0 AND minute < day + ${ONE_DAY})),
    day) AS first
  FROM used`

interface TokensRow {
  readonly model_id: string
  /** Number of the piece, counted from 1. A piece is the part of the history between two adjacent cuts. */
  readonly piece: number
  readonly tokens: bigint
}

const readTokens = ({ cuts }: HistoryQuery) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe<TokensRow>(
      `
      SELECT model_id, width_bucket(start, $1::timestamptz[]) AS piece, sum(tokens)::bigint AS tokens FROM (
        ${cellsBetween(cuts, "start, model_id, tokens", "usage_rollup")}
        UNION ALL SELECT minute, model_id, tokens FROM usage_delta
        WHERE minute >= $2::timestamptz AND minute < $3::timestamptz) AS sums
      GROUP BY model_id, piece`,
      [cuts.map(iso), cuts.at(0)?.toISOString(), cuts.at(-1)?.toISOString()]
    )
  )

interface SpeedRow {
  readonly model_id: string
  readonly measure: "tps" | "ttft"
  readonly samples: number
  readonly median: number
}

const readSpeeds = ({ from, to }: Interval) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe<SpeedRow>(
      `
      WITH counted AS (
        SELECT model_id, measure, bucket, sum(samples)::bigint AS samples FROM (
          ${cellsBetween([from, to], "model_id, measure, unnest(buckets) AS bucket, unnest(samples) AS samples", "speed_rollup")}
          UNION ALL
          SELECT model_id, measure, bucket, 1 FROM usage_delta CROSS JOIN LATERAL ${DELTA_SAMPLES}
          WHERE minute >= $1::timestamptz AND minute < $2::timestamptz) AS histograms
        GROUP BY 1, 2, 3
      ), placed AS (
        SELECT model_id, measure, bucket, sum(samples) OVER (PARTITION BY model_id, measure) AS all_samples,
          sum(samples) OVER (PARTITION BY model_id, measure ORDER BY bucket) AS up_to
        FROM counted)
      SELECT DISTINCT ON (model_id, measure) model_id, measure, all_samples::int AS samples,
        speed_of_bucket(bucket)::double precision AS median
      FROM placed WHERE 2 * up_to >= all_samples ORDER BY model_id, measure, bucket`,
      [iso(from), iso(to)]
    )
  )

const iso = (at: Date): string => at.toISOString()

const toHistory = (
  firstUse: Date | undefined,
  { cuts }: HistoryQuery,
  models: ReadonlyArray<ModelRow>,
  tokens: ReadonlyArray<TokensRow>,
  speeds: ReadonlyArray<SpeedRow>
): UsageHistory => {
  const pieces = new Map<string, Array<Tokens.Tokens>>()
  for (const { model_id, piece, tokens: counted } of tokens) {
    const of = pieces.get(model_id) ?? cuts.slice(1).map(() => Tokens.zero)
    of[piece - 1] = Tokens.Tokens(counted)
    pieces.set(model_id, of)
  }
  const speedOf = (modelId: string): ModelSpeed | undefined => {
    const tps = speeds.find(({ model_id, measure }) => model_id === modelId && measure === "tps")
    const ttft = speeds.find(({ model_id, measure }) => model_id === modelId && measure === "ttft")
    if (tps === undefined || ttft === undefined) return undefined
    return { samples: tps.samples, decitokensPerSecondP50: tps.median, ttftMillisP50: ttft.median }
  }
  return {
    firstUse,
    cuts,
    models: models.flatMap((row): ReadonlyArray<ModelHistory> => {
      const counted = pieces.get(row.id)
      const speed = speedOf(row.id)
      if (counted === undefined && speed === undefined) return []
      return [
        {
          publicName: row.public_name,
          displayName: row.display_name,
          author: row.author,
          hidden: row.hidden,
          retired: row.retired,
          tokens: counted ?? cuts.slice(1).map(() => Tokens.zero),
          speed
        }
      ]
    })
  }
}
