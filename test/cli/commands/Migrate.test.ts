import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import { Context, Effect, Fiber, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { documentOf, tollgate, useDatabase } from "../CommandLine.ts"

const NODE = "019a9f0e-0000-7000-8000-000000000001"

/** A database with the first 14 migrations and one node. `beat` sets the time since the node's last heartbeat. */
const olderNode = Effect.gen(function* () {
  const database = yield* TestDatabase.make("empty")
  const sql = yield* Effect.map(Layer.build(TestDatabase.clientLayer(database)), Context.get(SqlClient.SqlClient))
  yield* Effect.provideService(Migrations.migrate(Migrations.migrations.slice(0, 14)), SqlClient.SqlClient, sql)
  yield* sql`INSERT INTO gateway_node (id) VALUES (${NODE})`
  useDatabase(database.url)
  const beat = (ago: string) =>
    sql`UPDATE gateway_node SET beat_at = clock_timestamp() - ${ago}::interval WHERE id = ${NODE}`
  return { node: NODE, beat }
})

describe("tollgate migrate", () => {
  it.scopedLive("migrates an empty database", () =>
    Effect.gen(function* () {
      useDatabase((yield* TestDatabase.make("empty")).url)
      const early = yield* tollgate("users", "create", "ada@example.com", "--json")
      expect(early.code).toBe(1)
      expect(documentOf(early)).toMatchObject({ error: { code: "migrations_pending" } })
      expect(early.stderr).toContain("Run: tollgate migrate")
      const checked = yield* tollgate("doctor")
      expect(checked.code).toBe(1)
      expect(checked.stdout).toMatch(/^fail +migrations +missing: 0001_foundation/m)

      const migrated = yield* tollgate("migrate", "--json")
      expect(migrated).toMatchObject({ code: 0, stderr: "" })
      const { applied } = documentOf(migrated) as { applied: ReadonlyArray<string> }
      expect(applied[0]).toBe("0001_foundation")
      expect(documentOf(yield* tollgate("migrate", "--json"))).toEqual({ applied: [] })
      expect((yield* tollgate("migrate")).stdout).toBe("The database is up to date.\n")
      expect(yield* tollgate("users", "create", "ada@example.com")).toMatchObject({ code: 0 })
    })
  )

  it.scopedLive("refuses while a server runs that needs the older schema", () =>
    Effect.gen(function* () {
      const { beat, node } = yield* olderNode
      const beating = yield* beat("0 seconds").pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)
      const refused = yield* tollgate("migrate", "--json")
      expect(refused.code).toBe(3)
      expect(documentOf(refused)).toMatchObject({ error: { code: "older_nodes" } })
      expect(refused.stderr).toContain(
        `node ${node}: a release before 0019_node_versions; cannot run after 0015_operator_sessions`
      )
      const migrated = yield* tollgate("migrate", "--json", "--allow-older-nodes")
      expect(migrated).toMatchObject({ code: 0, stderr: "" })
      expect(documentOf(migrated)).toMatchObject({ applied: expect.arrayContaining(["0015_operator_sessions"]) })
      yield* Fiber.interrupt(beating)
    })
  )

  it.scopedLive("waits until a killed server counts as dead", () =>
    Effect.gen(function* () {
      const { beat } = yield* olderNode
      yield* beat("28 seconds")
      const migrated = yield* tollgate("migrate", "--json")
      expect(migrated).toMatchObject({ code: 0, stderr: expect.stringContaining("Waiting for their next heartbeat") })
    })
  )

  it.live("reports an unreachable database without the password", () =>
    Effect.gen(function* () {
      useDatabase("postgres://user:hunter2@127.0.0.1:1/tollgate")
      const migrated = yield* tollgate("migrate", "--json")
      expect(migrated.code).toBe(1)
      expect(documentOf(migrated)).toMatchObject({ error: { code: "database_unreachable" } })
      expect(migrated.stderr).toContain("Check that Postgres runs and that DATABASE_URL has")
      expect(migrated.stderr).not.toContain("hunter2")
      useDatabase("mysql://user:hunter2@127.0.0.1/tollgate")
      const misconfigured = yield* tollgate("migrate")
      expect(misconfigured).toMatchObject({ code: 1, stdout: "" })
      expect(misconfigured.stderr).toContain("DATABASE_URL: a URL like postgres:")
      expect(misconfigured.stderr).not.toContain("hunter2")
    })
  )
})
