/**
 * The history of usage, put together from sums by the hour, what is not folded into them yet, and, for the hours that a
 * cut divides, the settlements themselves. Token counts are of one snapshot; speeds, which are the same for every window
 * and cost more than all the rest, are read once a minute.
 *
 * Token counts are exact. Speeds come from a histogram whose buckets grow by 1 %: a median is off by less than 1 %, and
 * exact below 100 (10 tokens a second, 100 ms).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { RankingsHistory } from "@tollgate/application/ports/RankingsHistory"
import * as Tokens from "@tollgate/domain/money/Tokens"
import {
  cutHours,
  type HistoryQuestion,
  type ModelHistory,
  type ModelSpeed,
  type UsageHistory
} from "@tollgate/domain/rankings/UsageHistory"
import { type Interval, minuteOf } from "@tollgate/domain/rankings/Window"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { COUNTED_TOKENS, DELTA_SAMPLES, IS_SAMPLE, SAMPLES } from "../batch/CountedUsage.ts"
import { transact } from "../client/Transact.ts"

export const layer: Layer.Layer<RankingsHistory, never, SqlClient.SqlClient> = Layer.effect(
  RankingsHistory,
  Effect.map(SqlClient.SqlClient, (sql) => {
    let kept: { readonly minute: number; readonly rows: ReadonlyArray<SpeedRow> } | undefined
    const speedsOf = (interval: Interval) =>
      Effect.suspend(() => {
        const minute = interval.to.getTime()
        if (kept?.minute === minute) return Effect.succeed(kept.rows)
        return Effect.tap(readSpeeds(interval), (rows) =>
          Effect.sync(() => {
            kept = { minute, rows }
          })
        )
      })
    return {
      read: (minute, ask) =>
        Effect.gen(function* () {
          yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
          // Whoever is being served has the other processors.
          yield* sql`SET LOCAL max_parallel_workers_per_gather = 0`
          const firstUse = yield* readFirstUse(minute)
          const question = ask(firstUse)
          const models = yield* sql<ModelRow>`
          SELECT id, public_name, display_name, author, hidden, retired FROM model WHERE kind = 'text'`
          const tokens = yield* readTokens(question)
          const speeds = yield* speedsOf(question.speeds)
          return toHistory(firstUse, question, models, tokens, speeds)
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
    }
  })
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
    if (row === undefined || row.first === null) return undefined
    const first = minuteOf(row.first)
    return first < minute ? first : undefined
  })

// The hour is looked up in the sums, the instant in its settlements only.
const FIRST_USE = `
  WITH used AS (
    (SELECT hour FROM usage_hour JOIN model ON model.id = model_id AND model.kind = 'text'
      WHERE tokens > 0 ORDER BY hour LIMIT 1)
    UNION ALL
    SELECT min(hour) FROM usage_delta JOIN model ON model.id = model_id AND model.kind = 'text' WHERE tokens > 0)
  SELECT min(settled_at) AS first FROM settlement JOIN model ON model.id = model_id AND model.kind = 'text'
  WHERE settled_at >= (SELECT min(hour) FROM used) AND settled_at < (SELECT min(hour) + interval '1 hour' FROM used)
    AND ${COUNTED_TOKENS} > 0`

interface TokensRow {
  readonly model_id: string
  /** From 1 on. */
  readonly piece: number
  readonly tokens: bigint
}

const readTokens = (question: HistoryQuestion) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const hours = cutHours(question)
    const text = `
      SELECT model_id, piece, sum(tokens)::bigint AS tokens FROM (
        SELECT model_id, width_bucket(hour, $1::timestamptz[]) AS piece, tokens FROM (
          SELECT hour, model_id, tokens FROM usage_hour UNION ALL SELECT hour, model_id, tokens FROM usage_delta) AS sums
        WHERE hour >= $3::timestamptz AND hour < $4::timestamptz AND hour <> ALL ($2::timestamptz[])
        UNION ALL
        SELECT model_id, width_bucket(settled_at, $1::timestamptz[]), ${COUNTED_TOKENS}
        FROM settlement WHERE ${within(hours)}
      ) AS counted
      WHERE piece BETWEEN 1 AND cardinality($1::timestamptz[]) - 1 GROUP BY model_id, piece`
    return sql.unsafe<TokensRow>(text, [
      question.cuts.map(iso),
      hours.map(({ from }) => iso(from)),
      question.cuts.map(iso).at(0),
      question.cuts.map(iso).at(-1)
    ])
  })

interface SpeedRow {
  readonly model_id: string
  readonly measure: "tps" | "ttft"
  readonly samples: number
  readonly median: number
}

const readSpeeds = ({ from, to }: Interval) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const hours = cutHours({ cuts: [from, to] })
    const text = `
      WITH counted AS (
        SELECT model_id, measure, bucket, samples FROM (
          SELECT hour, model_id, measure, bucket, samples FROM speed_hour
          UNION ALL
          SELECT hour, model_id, measure, bucket, 1 FROM usage_delta CROSS JOIN LATERAL ${DELTA_SAMPLES}) AS sums
        WHERE hour >= $2::timestamptz AND hour < $3::timestamptz AND hour <> ALL ($1::timestamptz[])
        UNION ALL
        SELECT model_id, measure, bucket, 1 FROM settlement CROSS JOIN LATERAL ${SAMPLES}
        WHERE (${within(hours)}) AND settled_at >= $2::timestamptz AND settled_at < $3::timestamptz
          AND ${IS_SAMPLE}
      ), buckets AS (
        SELECT model_id, measure, bucket, sum(samples) AS samples FROM counted GROUP BY 1, 2, 3
      ), placed AS (
        SELECT model_id, measure, bucket, sum(samples) OVER (PARTITION BY model_id, measure) AS all_samples,
          sum(samples) OVER (PARTITION BY model_id, measure ORDER BY bucket) AS up_to
        FROM buckets)
      SELECT DISTINCT ON (model_id, measure) model_id, measure, all_samples::int AS samples,
        speed_of_bucket(bucket)::int AS median
      FROM placed WHERE 2 * up_to >= all_samples ORDER BY model_id, measure, bucket`
    return sql.unsafe<SpeedRow>(text, [hours.map((hour) => iso(hour.from)), iso(from), iso(to)])
  })

const iso = (at: Date): string => at.toISOString()

/** Written out, so that the index by time is looked into for each of the hours. */
const within = (hours: ReadonlyArray<Interval>): string =>
  hours.length === 0
    ? "false"
    : hours.map(({ from, to }) => `settled_at >= '${iso(from)}' AND settled_at < '${iso(to)}'`).join(" OR ")

const toHistory = (
  firstUse: Date | undefined,
  { cuts }: HistoryQuestion,
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
