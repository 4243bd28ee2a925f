import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, layer } from "@effect/vitest"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { sqlState } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { transact } from "@tollgate/adapters-postgres/client/Transact"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import { Cause, Data, Deferred, Effect, Exit, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "./Cable.ts"

class Refused extends Data.TaggedError("Refused") {}

let tables = 0
/** Creates a table with two rows, both with the number 0. */
const aTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = `counter_${++tables}`
  yield* sql.unsafe(
    `CREATE TABLE ${table} (id int PRIMARY KEY, n int NOT NULL); INSERT INTO ${table} VALUES (1, 0), (2, 0)`
  )
  return sql(table)
})

/** Makes the first two callers wait for each other. Later callers continue immediately. */
const meetingOfTwo = Effect.gen(function* () {
  const both = yield* Deferred.make<void>()
  let arrived = 0
  return Effect.suspend(() => (++arrived === 2 ? Deferred.succeed(both, undefined) : Deferred.await(both)))
})

const defectOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? [...Cause.defects(exit.cause)][0] : undefined

describe("a transaction", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.effect("is repeated after a serialization failure", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const table = yield* aTable
        const meet = yield* meetingOfTwo
        let executions = 0
        // Each transaction reads both numbers and writes one, so one of two concurrent transactions fails.
        const skewed = (id: number) =>
          transact(
            Effect.gen(function* () {
              executions++
              yield* sql`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
              const [row] = yield* sql<{ sum: bigint }>`SELECT sum(n) AS sum FROM ${table}`
              yield* meet
              yield* sql`UPDATE ${table} SET n = ${String(row?.sum)}::int + 1 WHERE id = ${id}`
            })
          )
        yield* Effect.all([skewed(1), skewed(2)], { concurrency: 2 })
        expect(executions).toBeGreaterThan(2)
        expect(yield* sql`SELECT n FROM ${table} ORDER BY n`).toEqual([{ n: 1 }, { n: 2 }])
      })
    )

    it.effect("is repeated after a deadlock", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const table = yield* aTable
        const meet = yield* meetingOfTwo
        const crossed = (first: number, second: number) =>
          transact(
            Effect.gen(function* () {
              yield* sql`SET LOCAL deadlock_timeout = '10ms'`
              yield* sql`UPDATE ${table} SET n = n + 1 WHERE id = ${first}`
              yield* meet
              yield* sql`UPDATE ${table} SET n = n + 1 WHERE id = ${second}`
            })
          )
        yield* Effect.all([crossed(1, 2), crossed(2, 1)], { concurrency: 2 })
        expect(yield* sql`SELECT n FROM ${table}`).toEqual([{ n: 2 }, { n: 2 }])
      })
    )

    it.effect("writes nothing when the domain refuses", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const table = yield* aTable
        const refused = sql`UPDATE ${table} SET n = 9`.pipe(Effect.zipRight(new Refused()), transact)
        expect(yield* Effect.flip(refused)).toEqual(new Refused())
        expect(yield* sql`SELECT n FROM ${table}`).toEqual([{ n: 0 }, { n: 0 }])
      })
    )

    it.effect("ends with an unexpected error when the database rejects a statement", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const table = yield* aTable
        const twice = yield* Effect.exit(transact(sql`INSERT INTO ${table} VALUES (1, 1)`))
        expect(sqlState(defectOf(twice))).toBe("23505")
        yield* sql`ALTER TABLE ${table} ADD COLUMN twin int REFERENCES ${table} (id) DEFERRABLE INITIALLY DEFERRED`
        const late = yield* Effect.exit(transact(sql`UPDATE ${table} SET twin = 7`))
        expect(defectOf(late)).toBeInstanceOf(SqlError)
        expect(sqlState(defectOf(late))).toBe("23503")
      })
    )

    it.scoped("ends as unavailable when the connection is lost during the commit", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const table = yield* aTable
        const cable = yield* Cable.scoped((yield* TestDatabase.TestDatabase).settings)
        const pool = PgPool.layer({ maxConnections: 2 }).pipe(Layer.provide(PgSettings.layer(cable.settings)))
        const update = transact(sql`UPDATE ${table} SET n = n + 1`)
        const [lost, responseLost] = yield* Effect.gen(function* () {
          void cable.atNextCommit("commit lost")
          const first = yield* Effect.exit(update)
          void cable.atNextCommit("response lost")
          return [first, yield* Effect.exit(update)] as const
        }).pipe(Effect.provide(pool))
        expect(defectOf(lost)).toBeInstanceOf(DatabaseUnavailable)
        expect(defectOf(responseLost)).toBeInstanceOf(DatabaseUnavailable)
        expect(yield* sql`SELECT n FROM ${table}`).toEqual([{ n: 1 }, { n: 1 }])
      })
    )

    it.effect("cannot start inside another transaction", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const exit = yield* Effect.exit(transact(transact(sql`SELECT 1`)))
        expect(String(defectOf(exit))).toContain("inside another transaction")
      })
    )

    it.effect("reads 64-bit integers exactly", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const big = 9_007_199_254_740_993n
        const [row] = yield* transact(
          sql`SELECT ${big}::int8 AS big, '2026-01-02T03:04:05.678Z'::timestamptz AS at, 7::int AS small`
        )
        expect(row).toEqual({ big, at: new Date("2026-01-02T03:04:05.678Z"), small: 7 })
      })
    )
  })
})
