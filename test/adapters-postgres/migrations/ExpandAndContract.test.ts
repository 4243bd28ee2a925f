/**
 * Tests the rules that let servers of two releases run at the same time on one database (ADR 0015).
 */
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import { Effect, Exit, Fiber } from "effect"
import * as Pg from "pg"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { breakingChanges } from "./SchemaChanges.ts"

const { migrations } = Migrations
const names = migrations.map(({ name }) => name)
/** Releases up to this migration were upgraded while all servers were stopped. */
const LAST_WITH_DOWNTIME = "0015_operator_sessions"
const ruled = migrations.slice(names.indexOf(LAST_WITH_DOWNTIME) + 1)

/** Returns the violations of these rules by a migration that follows the migrations with these names. */
const violations = (
  { compatibleSince, contracts = [], name, statements }: Migrations.Migration,
  earlier: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const since = earlier.indexOf(compatibleSince ?? "")
  const unknown = contracts.filter((expand) => !earlier.includes(expand))
  return [
    ...(since < 0 ? [`${name} does not state in compatibleSince an earlier migration`] : []),
    ...unknown.map((expand) => `${name} contracts ${expand}, which is not an earlier migration`),
    ...contracts
      .filter((expand) => earlier.indexOf(expand) > since)
      .map((expand) => `${name} states that it is compatible with releases before ${expand}, which it contracts`),
    ...(contracts.length > 0 ? [] : breakingChanges(statements).map((change) => `${name}: ${change}`))
  ]
}

describe("a migration", () => {
  it("after 0015 obeys the rules of ADR 0015", () => {
    expect(ruled.length).toBeGreaterThan(0)
    expect(ruled.flatMap((migration) => violations(migration, names.slice(0, names.indexOf(migration.name))))).toEqual(
      []
    )
  })

  const expand = (statements: string): Migrations.Migration => ({
    name: "0099_next",
    statements,
    compatibleSince: LAST_WITH_DOWNTIME
  })

  it.each([
    "DROP TABLE api_key_use",
    "DROP INDEX api_key_list;",
    "ALTER TABLE api_key DROP COLUMN name",
    "ALTER TABLE api_key RENAME COLUMN name TO label",
    "ALTER TABLE api_key RENAME TO key",
    "ALTER TABLE api_key ADD COLUMN label text NOT NULL",
    "ALTER TABLE api_key ADD COLUMN label text,\n  ALTER COLUMN name SET NOT NULL",
    "ALTER TABLE api_key ALTER COLUMN name TYPE varchar(20)",
    "ALTER TABLE api_key ALTER name DROP DEFAULT",
    "ALTER TABLE api_key ADD COLUMN seen timestamptz DEFAULT clock_timestamp()",
    "ALTER TABLE api_key ADD CHECK (name <> '')",
    "ALTER TABLE api_key ADD CONSTRAINT short CHECK (length(name) < 9)",
    "ALTER TABLE api_key DROP CONSTRAINT one, ADD CONSTRAINT other CHECK (true)",
    "CREATE UNIQUE INDEX api_key_name ON api_key (user_id, name)",
    "CREATE INDEX settlement_user ON settlement (user_id)",
    "CREATE TRIGGER guard BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION refuse()",
    "CREATE TABLE fresh (id int); DELETE FROM api_key",
    "-- only a comment; nothing\nDROP VIEW shown",
    "/* only a comment */ DROP VIEW shown",
    "INSERT INTO note VALUES ('a -- b');\nDROP VIEW shown;\nINSERT INTO note VALUES ('c')",
    'ALTER TABLE "api_key" DROP COLUMN name',
    "ALTER TABLE public.api_key DROP COLUMN name",
    'CREATE INDEX settlement_user ON "settlement" (user_id)'
  ])("is refused with the breaking statement %s", (statements) => {
    expect(violations(expand(statements), names)).not.toEqual([])
    const contract = { ...expand(statements), contracts: ["0014_key_limits"] }
    expect(violations(contract, names)).toEqual([])
  })

  it.each([
    "ALTER TABLE api_key ADD COLUMN label text",
    "ALTER TABLE api_key ADD COLUMN label text NOT NULL DEFAULT 'a, b' CHECK (label <> '')",
    "ALTER TABLE model DROP CONSTRAINT model_kind_check, ADD CONSTRAINT model_kind_check CHECK (kind IN ('a', 'b'))",
    "CREATE TABLE fresh (id int NOT NULL UNIQUE); ALTER TABLE fresh ADD CHECK (id > 0); CREATE UNIQUE INDEX one ON fresh (id)",
    "CREATE INDEX api_key_name ON api_key (name)",
    "-- the user's name\nCREATE INDEX api_key_name ON api_key (name); -- isn't unique",
    "ALTER TABLE topup_order ADD COLUMN operation_id text; CREATE UNIQUE INDEX once ON topup_order (reseller_id, operation_id)",
    "ALTER TABLE api_key ADD COLUMN label text; CREATE TRIGGER stays BEFORE UPDATE ON api_key FOR EACH ROW WHEN (NEW.label IS DISTINCT FROM OLD.label) EXECUTE FUNCTION refuse()",
    "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM api_key; END $$"
  ])("is allowed with the statement %s", (statements) => {
    expect(violations(expand(statements), names)).toEqual([])
  })

  it("is refused without compatibleSince", () => {
    const unstated: Migrations.Migration = { name: "0099_next", statements: "" }
    expect(violations(unstated, names)).toHaveLength(1)
  })

  it("is refused if it contracts a migration after its compatibleSince", () => {
    expect(violations({ ...expand(""), contracts: ["0018_key_peppers"] }, names)).toHaveLength(1)
  })

  it("is refused if it contracts an unknown migration", () => {
    expect(violations({ ...expand(""), contracts: ["0098_missing"] }, names)).toHaveLength(1)
  })
})

describe("an older release", () => {
  const release = (count: number): ReadonlyArray<Migrations.Migration> => [
    ...migrations,
    ...[
      { name: "0090_expand", statements: "CREATE TABLE fresh (id int)", compatibleSince: LAST_WITH_DOWNTIME },
      { name: "0091_contract", statements: "", compatibleSince: "0090_expand", contracts: [LAST_WITH_DOWNTIME] }
    ].slice(0, count)
  ]

  it.scopedLive("is compatible until a migration ends the support of its schema", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        expect(yield* Migrations.incompatible()).toEqual([])
        yield* Migrations.migrate(migrations.slice(0, names.indexOf(LAST_WITH_DOWNTIME) + 1))
        yield* sql`ALTER TABLE migration DROP COLUMN compatible_since`
        expect(yield* Migrations.incompatible()).toEqual([])
        yield* Migrations.migrate(release(1))
        expect(yield* Migrations.incompatible()).toEqual([])
        yield* Migrations.migrate(release(2))
        expect(yield* Migrations.incompatible()).toEqual(["0091_contract"])
        expect(yield* Migrations.incompatible(release(1))).toEqual([])
        expect(yield* Migrations.incompatible(release(2))).toEqual([])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )
})

describe("a migration that waits for a table lock", () => {
  const change = [...migrations, { name: "0090_label", statements: "ALTER TABLE api_key ADD COLUMN label text" }]

  /** Runs the effect while another session reads the table in an open transaction, like a backup. */
  const whileRead = <A, E, R>(effect: (release: Effect.Effect<void>) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(TestDatabase.TestDatabase, ({ settings }) =>
      Effect.acquireUseRelease(
        Effect.promise(async () => {
          const client = new Pg.Client(settings)
          await client.connect()
          await client.query("BEGIN")
          await client.query("SELECT FROM api_key")
          return client
        }),
        (client) => effect(Effect.promise(() => client.query("COMMIT"))),
        (client) => Effect.promise(() => client.end())
      )
    )

  it.scopedLive("lets other statements run between its tries", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* whileRead((release) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const waiting = Migrations.migrate(change, { lockMillis: 100, pauseMillis: 10, tries: 10_000 })
          const migrating = yield* Effect.fork(waiting)
          const waits = sql<{ waits: number }>`
            SELECT count(*)::int AS waits FROM pg_locks WHERE relation = 'api_key'::regclass AND NOT granted`
          yield* Effect.repeat(waits, { until: ([row]) => row?.waits === 1 })
          yield* Effect.replicateEffect(Effect.timeout(sql`SELECT count(*) FROM api_key`, "15 seconds"), 3)
          yield* release
          expect(yield* Fiber.join(migrating)).toEqual(["0090_label"])
        })
      ).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("applies nothing if no try gets the lock", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* whileRead(() =>
        Effect.gen(function* () {
          const exit = yield* Effect.exit(Migrations.migrate(change, { lockMillis: 10, pauseMillis: 1, tries: 3 }))
          expect(Exit.isFailure(exit)).toBe(true)
          expect(yield* Migrations.pending(change)).toEqual(["0090_label"])
        })
      ).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )
})
