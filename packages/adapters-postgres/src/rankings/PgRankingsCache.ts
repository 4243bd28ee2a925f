/**
 * Caches the rankings of the current minute in Postgres, with one row per window, for all nodes.
 *
 * A node that finds no rows takes an advisory lock, reads the rows again, and computes the rankings if the rows are
 * still missing. The lock ends with its transaction, so a node that dies releases the lock. Each node runs at most one
 * computation at a time, so that its computations use at most two connections. The computation continues when the
 * request that started it is interrupted.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import { RankingsCache } from "@tollgate/application/rankings/ReadRankings"
import { Rankings } from "@tollgate/domain/rankings/Rankings"
import type { RankingsByWindow } from "@tollgate/domain/rankings/RankUsage"
import { minuteOf } from "@tollgate/domain/rankings/Window"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"

const MINUTE_MILLIS = 60_000
const NANOS_PER_MILLI = 1_000_000n
/** Key of the advisory lock. The number is arbitrary, but must be the same in every version of this program. */
const COMPUTATION_LOCK = 843_620_177
/**
 * Milliseconds for which the transaction that holds the lock may be idle; equals the timeout of one statement of the
 * computation.
 */
const COMPUTATION_TIMEOUT_MILLIS = 30_000

interface Row {
  readonly now: Date
  readonly documents: ReadonlyArray<unknown>
}

/** Documents in memory. They expire at the end of their minute, measured with the monotonic clock of this process. */
interface CachedRankings {
  readonly rankings: RankingsByWindow
  readonly expiresAtNanos: bigint
}

export const layer: Layer.Layer<RankingsCache, never, SqlClient.SqlClient> = Layer.effect(
  RankingsCache,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const oneAtATime = yield* Effect.makeSemaphore(1)
    let cached: CachedRankings | undefined

    const fromMemory = Effect.map(Clock.currentTimeNanos, (now) =>
      cached !== undefined && now < cached.expiresAtNanos ? cached.rankings : undefined
    )

    /**
     * Caches the documents in memory until the minute of `now` ends. The documents can expire early but never late,
     * because `queriedAtNanos` is not later than the moment when the database read `now`.
     */
    const keep = (rankings: RankingsByWindow, now: Date, queriedAtNanos: bigint): RankingsByWindow => {
      const leftMillis = minuteOf(now).getTime() + MINUTE_MILLIS - now.getTime()
      cached = { rankings, expiresAtNanos: queriedAtNanos + BigInt(leftMillis) * NANOS_PER_MILLI }
      return rankings
    }

    const stored = Effect.gen(function* () {
      const queriedAtNanos = yield* Clock.currentTimeNanos
      const [row] = yield* sql<Row>`
        SELECT clock.now, coalesce(jsonb_agg(kept.document) FILTER (WHERE kept.period IS NOT NULL), '[]') AS documents
        FROM (SELECT clock_timestamp() AS now) AS clock
        LEFT JOIN rankings_document AS kept
          ON date_bin('1 minute', kept.generated_at, 'epoch') = date_bin('1 minute', clock.now, 'epoch')
        GROUP BY clock.now`
      if (row === undefined) return yield* Effect.dieMessage("the database returned no time")
      const found = yield* Effect.orDie(Effect.forEach(row.documents, decode))
      const rankings =
        found.length === 0
          ? undefined
          : keep(new Map(found.map((document) => [document.window, document])), row.now, queriedAtNanos)
      return { now: row.now, queriedAtNanos, rankings }
    })

    /**
     * Computes the documents under the advisory lock, unless another node has stored them. The computation uses a
     * second connection, because this connection holds the lock.
     */
    const computeOnce = <E>(
      compute: (now: Date) => Effect.Effect<RankingsByWindow, E>
    ): Effect.Effect<Either.Either<RankingsByWindow, E>> =>
      Effect.flatMap(Effect.context<never>(), (outside) =>
        Effect.gen(function* () {
          // This transaction is idle while the computation uses the second connection. The idle transaction holds no
          // row locks.
          yield* sql`SET LOCAL idle_in_transaction_session_timeout = ${sql.literal(String(COMPUTATION_TIMEOUT_MILLIS))}`
          yield* sql`SELECT pg_advisory_xact_lock(${COMPUTATION_LOCK})`
          const { queriedAtNanos, now, rankings } = yield* stored
          if (rankings !== undefined) return Either.right(rankings)
          const computed = yield* Effect.either(
            Effect.mapInputContext(compute(now), (_: Context.Context<never>) => outside)
          )
          if (Either.isLeft(computed)) return computed
          const documents = yield* Effect.orDie(Effect.forEach(computed.right.values(), encode))
          yield* sql`
            INSERT INTO rankings_document AS kept (period, generated_at, document)
            SELECT document ->> 'window', ${now}, document FROM jsonb_array_elements(${JSON.stringify(documents)}::jsonb) AS document
            ON CONFLICT (period) DO UPDATE SET generated_at = excluded.generated_at, document = excluded.document`
          return Either.right(keep(computed.right, now, queriedAtNanos))
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
      )

    return {
      inMemory: (window) => Effect.map(fromMemory, (rankings) => rankings?.get(window)),
      take: <E>(compute: (now: Date) => Effect.Effect<RankingsByWindow, E>) =>
        Effect.gen(function* () {
          const computedMeanwhile = yield* fromMemory
          if (computedMeanwhile !== undefined) return computedMeanwhile
          const { rankings } = yield* sqlErrorsAreDefects(stored)
          return rankings ?? (yield* yield* computeOnce(compute))
        }).pipe(Effect.uninterruptible, oneAtATime.withPermits(1), Effect.disconnect)
    }
  })
)

/**
 * Encoding or decoding a document takes several milliseconds, so the event loop serves other requests before each
 * document.
 */
const encodeNow = Schema.encode(Rankings)
const encode = (rankings: Rankings) => Effect.zipRight(yieldToEventLoop, encodeNow(rankings))

const decodeNow = Schema.decodeUnknown(Rankings)
const decode = (document: unknown) => Effect.zipRight(yieldToEventLoop, decodeNow(document))
