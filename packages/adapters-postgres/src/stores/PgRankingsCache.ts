/**
 * The rankings of each window, one row for all nodes.
 *
 * Who finds none of the present minute takes the window's lock, looks again, and computes. The lock goes with the
 * connection, so whoever dies on the way frees it. A node makes one document at a time, so that it holds no more than
 * two connections; who asked for one may leave, and the making goes on.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { RankingsCache } from "@tollgate/application/ports/RankingsCache"
import { Rankings } from "@tollgate/domain/rankings/Rankings"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"

const MINUTE = 60_000
const NANOS = 1_000_000n
/** Any number, the same in every version of this program; each window has its own lock under it. */
const MAKING = 843_620_177

interface Row {
  readonly now: Date
  readonly document: unknown
}

/** A document, and when on this process's own clock its minute is over at the earliest. */
interface Kept {
  readonly rankings: Rankings
  readonly until: bigint
}

export const layer: Layer.Layer<RankingsCache, never, SqlClient.SqlClient> = Layer.effect(
  RankingsCache,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const kept = new Map<Window, Kept>()

    const atHand = (window: Window) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        const found = kept.get(window)
        return found !== undefined && now < found.until ? found.rankings : undefined
      })

    /** `askedAt` was no later than the moment `now` is the database's time of. */
    const keep = (window: Window, rankings: Rankings, now: Date, askedAt: bigint): Rankings => {
      const left = minuteOf(now).getTime() + MINUTE - now.getTime()
      kept.set(window, { rankings, until: askedAt + BigInt(left) * NANOS })
      return rankings
    }

    const stored = (window: Window) =>
      Effect.gen(function* () {
        const askedAt = yield* Clock.currentTimeNanos
        const [row] = yield* sql<Row>`
          SELECT clock.now, kept.document FROM (SELECT clock_timestamp() AS now) AS clock
          LEFT JOIN rankings_document AS kept ON kept.period = ${window}
            AND date_bin('1 minute', kept.generated_at, 'epoch') = date_bin('1 minute', clock.now, 'epoch')`
        if (row === undefined) return yield* Effect.dieMessage("the database did not say its time")
        const rankings =
          row.document === null ? undefined : keep(window, yield* Effect.orDie(decode(row.document)), row.now, askedAt)
        return { now: row.now, askedAt, rankings }
      })

    /** Reading and computing take other connections than the one that holds the lock. */
    const make = <E>(
      window: Window,
      compute: (now: Date) => Effect.Effect<Rankings, E>
    ): Effect.Effect<Either.Either<Rankings, E>> =>
      Effect.flatMap(Effect.context<never>(), (outside) =>
        Effect.gen(function* () {
          yield* sql`SELECT pg_advisory_xact_lock(${MAKING}, hashtext(${window}))`
          const { askedAt, now, rankings } = yield* stored(window)
          if (rankings !== undefined) return Either.right(rankings)
          const made = yield* Effect.either(
            Effect.mapInputContext(compute(now), (_: Context.Context<never>) => outside)
          )
          if (Either.isLeft(made)) return made
          const document = JSON.stringify(yield* Effect.orDie(encode(made.right)))
          yield* sql`
            INSERT INTO rankings_document AS kept (period, generated_at, document)
            VALUES (${window}, ${made.right.generatedAt}, ${document}::jsonb)
            ON CONFLICT (period) DO UPDATE SET generated_at = excluded.generated_at, document = excluded.document`
          return Either.right(keep(window, made.right, now, askedAt))
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
      )

    return {
      atHand,
      take: <E>(window: Window, compute: (now: Date) => Effect.Effect<Rankings, E>) =>
        Effect.gen(function* () {
          const meanwhile = yield* atHand(window)
          if (meanwhile !== undefined) return meanwhile
          const { rankings } = yield* sqlErrorsAreDefects(stored(window))
          return rankings ?? (yield* yield* make(window, compute))
        }).pipe(Effect.uninterruptible, oneAtATime.withPermits(1), Effect.disconnect)
    }
  })
)

const encode = Schema.encode(Rankings)
const decode = Schema.decodeUnknown(Rankings)
