import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { type Migration, migrate, migrations } from "@tollgate/adapters-postgres/migrations/Migrations"
import {
  lastMigration,
  migrateWithoutOlderNodes,
  olderNodes
} from "@tollgate/adapters-postgres/migrations/NodeVersions"
import { Effect, Fiber } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

const DEAD_AFTER_SECONDS = 3_600
const ONE_LONG_TRY = { lockMillis: 60_000, pauseMillis: 10, tries: 1 }
const names = migrations.map(({ name }) => name)
const upTo = (name: string) => migrations.slice(0, names.indexOf(name) + 1)

const expanding: Migration = {
  name: "0090_expand",
  statements: "CREATE TABLE fresh (id int)",
  compatibleSince: "0015_operator_sessions"
}
const contracting: Migration = {
  name: "0091_contract",
  statements: "DROP TABLE fresh",
  compatibleSince: "0019_node_versions",
  contracts: ["0090_expand"]
}

const nodeId = (number: number) => `019a9f0e-0000-7000-8000-00000000000${number}`

const within =
  (migrated: ReadonlyArray<Migration>) =>
  <A, E>(test: Effect.Effect<A, E, SqlClient.SqlClient>) =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.zipRight(migrate(migrated), test).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })

describe("a live node", () => {
  it.scopedLive("must stop before a migration that its program does not support", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`
        INSERT INTO gateway_node (id, started_at, last_migration) VALUES
          ('${nodeId(1)}', '2026-01-01', NULL), ('${nodeId(2)}', '2026-01-02', '0019_node_versions'),
          ('${nodeId(3)}', '2026-01-03', '0090_expand'), ('${nodeId(4)}', '2026-01-04', '0020_other_branch')`)
      const beatAt = expect.any(Date)
      const [older, other] = [
        { id: nodeId(1), lastMigration: null, beatAt, endedBy: ["0091_contract"] },
        { id: nodeId(4), lastMigration: "0020_other_branch", beatAt, endedBy: ["0090_expand", "0091_contract"] }
      ]
      const steps = [...migrations, expanding, contracting]
      expect(yield* olderNodes(DEAD_AFTER_SECONDS, steps)).toEqual([older, other])
      yield* sql`UPDATE gateway_node SET left_at = clock_timestamp() WHERE id = ${nodeId(1)}`
      expect(yield* olderNodes(DEAD_AFTER_SECONDS, steps)).toEqual([other])
      yield* sql`UPDATE gateway_node SET beat_at = clock_timestamp() - interval '2 hours' WHERE id = ${nodeId(4)}`
      expect(yield* olderNodes(DEAD_AFTER_SECONDS, steps)).toEqual([])
    }).pipe(within(migrations))
  )

  it.scopedLive("of a release before 0019 must stop before an incompatible migration", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO gateway_node (id) VALUES (${nodeId(1)})`
      expect(yield* olderNodes(DEAD_AFTER_SECONDS)).toEqual([])
      expect(yield* olderNodes(DEAD_AFTER_SECONDS, [...migrations, contracting])).toMatchObject([
        { lastMigration: null, endedBy: ["0091_contract"] }
      ])
      yield* migrate()
      yield* sql`INSERT INTO gateway_node (id) VALUES (${nodeId(2)})`
      expect(yield* sql`SELECT FROM gateway_node WHERE last_migration IS NULL`).toHaveLength(2)
    }).pipe(within(upTo("0015_operator_sessions")))
  )

  it.scopedLive("is detected by a migration that runs when the node starts", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const held = yield* sql.reserve
      yield* held.executeUnprepared("SELECT pg_advisory_lock(90)", [], undefined)
      const waiting: Migration = {
        ...expanding,
        statements: `SELECT pg_advisory_xact_lock(90); ${expanding.statements}`
      }
      const migrating = yield* Effect.fork(
        migrateWithoutOlderNodes(DEAD_AFTER_SECONDS, [...migrations, waiting, contracting], ONE_LONG_TRY)
      )
      yield* sql`SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE datname = current_database() AND objid = 90 AND NOT granted`.pipe(
        Effect.delay("20 millis"),
        Effect.repeat({ until: ({ length }) => length > 0 })
      )
      yield* sql`INSERT INTO gateway_node (id) VALUES (${nodeId(1)})`
      yield* held.executeUnprepared("SELECT pg_advisory_unlock(90)", [], undefined)
      expect(yield* Effect.flip(Fiber.join(migrating))).toMatchObject({
        _tag: "OlderNodesRun",
        nodes: [{ id: nodeId(1), endedBy: ["0091_contract"] }]
      })
      expect(yield* sql`SELECT FROM migration WHERE name > '0089'`).toEqual([])
    }).pipe(Effect.scoped, within(migrations))
  )

  it("states the last migration of its program", () => {
    expect(lastMigration).toBe(names.at(-1))
  })
})
