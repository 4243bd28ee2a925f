/**
 * The rankings of the present minute, one row a window for all nodes.
 *
 * Who finds none of it takes the lock, looks again, and computes. The lock goes with the connection, so whoever dies on
 * the way frees it. A node computes once at a time, so that it holds no more than two connections; who asked may leave,
 * and the making goes on.
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

const MINUTE = 60_000
const NANOS = 1_000_000n
/** Any number, the same in every version of this program. */
const MAKING = 843_620_177
/** As long as a statement of the computing may take. */
const COMPUTING_MILLIS = 30_000

interface Row {
  readonly now: Date
  readonly documents: ReadonlyArray<unknown>
}

/** Documents, and when on this process's own clock their minute is over at the earliest. */
interface Kept {
  readonly rankings: RankingsByWindow
  readonly until: bigint
}

export const layer: Layer.Layer<RankingsCache, never, SqlClient.SqlClient> = Layer.effect(
  RankingsCache,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const oneAtATime = yield* Effect.makeSemaphore(1)
    let kept: Kept | undefined

    const allAtHand = Effect.map(Clock.currentTimeNanos, (now) =>
      kept !== undefined && now < kept.until ? kept.rankings : undefined
    )

    /** `askedAt` was no later than the moment `now` is the database's time of. */
    const keep = (rankings: RankingsByWindow, now: Date, askedAt: bigint): RankingsByWindow => {
      const left = minuteOf(now).getTime() + MINUTE - now.getTime()
      kept = { rankings, until: askedAt + BigInt(left) * NANOS }
      return rankings
    }

    const stored = Effect.gen(function* () {
      const askedAt = yield* Clock.currentTimeNanos
      const [row] = yield* sql<Row>`
        SELECT clock.now, coalesce(jsonb_agg(kept.document) FILTER (WHERE kept.period IS NOT NULL), '[]') AS documents
        FROM (SELECT clock_timestamp() AS now) AS clock
        LEFT JOIN rankings_document AS kept
          ON date_bin('1 minute', kept.generated_at, 'epoch') = date_bin('1 minute', clock.now, 'epoch')
        GROUP BY clock.now`
      if (row === undefined) return yield* Effect.dieMessage("the database did not say its time")
      const found = yield* Effect.orDie(Effect.forEach(row.documents, decode))
      const rankings =
        found.length === 0
          ? undefined
          : keep(new Map(found.map((document) => [document.window, document])), row.now, askedAt)
      return { now: row.now, askedAt, rankings }
    })

    /** Reading and computing take other connections than the one that holds the lock. */
    const make = <E>(
      compute: (now: Date) => Effect.Effect<RankingsByWindow, E>
    ): Effect.Effect<Either.Either<RankingsByWindow, E>> =>
      Effect.flatMap(Effect.context<never>(), (outside) =>
        Effect.gen(function* () {
          // While the computing reads elsewhere, this transaction does nothing, and has no row that anybody waits for.
          yield* sql`SET LOCAL idle_in_transaction_session_timeout = ${sql.literal(String(COMPUTING_MILLIS))}`
          yield* sql`SELECT pg_advisory_xact_lock(${MAKING})`
          const { askedAt, now, rankings } = yield* stored
          if (rankings !== undefined) return Either.right(rankings)
          const made = yield* Effect.either(
            Effect.mapInputContext(compute(now), (_: Context.Context<never>) => outside)
          )
          if (Either.isLeft(made)) return made
          const documents = yield* Effect.orDie(Effect.forEach(made.right.values(), encode))
          yield* sql`
            INSERT INTO rankings_document AS kept (period, generated_at, document)
            SELECT document ->> 'window', ${now}, document FROM jsonb_array_elements(${JSON.stringify(documents)}::jsonb) AS document
            ON CONFLICT (period) DO UPDATE SET generated_at = excluded.generated_at, document = excluded.document`
          return Either.right(keep(made.right, now, askedAt))
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
      )

    return {
      atHand: (window) => Effect.map(allAtHand, (rankings) => rankings?.get(window)),
      take: <E>(compute: (now: Date) => Effect.Effect<RankingsByWindow, E>) =>
        Effect.gen(function* () {
          const meanwhile = yield* allAtHand
          if (meanwhile !== undefined) return meanwhile
          const { rankings } = yield* sqlErrorsAreDefects(stored)
          return rankings ?? (yield* yield* make(compute))
        }).pipe(Effect.uninterruptible, oneAtATime.withPermits(1), Effect.disconnect)
    }
  })
)

/** A document takes some milliseconds, so the event loop serves other requests between two documents. */
const encodeNow = Schema.encode(Rankings)
const encode = (rankings: Rankings) => Effect.zipRight(yieldToEventLoop, encodeNow(rankings))

const decodeNow = Schema.decodeUnknown(Rankings)
const decode = (document: unknown) => Effect.zipRight(yieldToEventLoop, decodeNow(document))
