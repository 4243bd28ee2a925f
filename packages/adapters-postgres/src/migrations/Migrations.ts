/**
 * Migrates a database to the schema of this version of the program. Each migration is applied once, in order, and is
 * never reverted.
 *
 * All missing migrations are applied in one transaction under one advisory lock. When two processes migrate at the same
 * time, the second process waits for the lock, and then finds no missing migration.
 *
 * Servers run during a migration and after it, so migrations expand and contract the schema (ADR 0015). While a
 * migration waits for a table lock, later statements that conflict with this lock wait behind it. Therefore a migration
 * waits only for a short time. Then its transaction is rolled back, and repeated after a pause.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { withoutTimeLimits } from "../client/ResponseTimeout.ts"
import { isLockNotAvailable } from "../client/SqlErrorClass.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { foundation } from "./0001_foundation.ts"
import { staleDecisions } from "./0002_stale_decisions.ts"
import { resellerProgramme } from "./0003_reseller_programme.ts"
import { rankings } from "./0004_rankings.ts"
import { settlementReferences } from "./0005_settlement_references.ts"
import { images } from "./0006_images.ts"
import { usageByGrain } from "./0007_usage_by_grain.ts"
import { secondPayments } from "./0008_second_payments.ts"
import { embeddings } from "./0009_embeddings.ts"
import { growingHolds } from "./0010_growing_holds.ts"
import { unpaidOrders } from "./0011_unpaid_orders.ts"
import { resellerLists } from "./0012_reseller_lists.ts"
import { hostedTools } from "./0013_hosted_tools.ts"
import { keyLimits } from "./0014_key_limits.ts"
import { operatorSessions } from "./0015_operator_sessions.ts"
import { webhooks } from "./0016_webhooks.ts"
import { topUpOperations } from "./0017_topup_operations.ts"
import { keyPeppers } from "./0018_key_peppers.ts"
import { nodeVersions } from "./0019_node_versions.ts"
import { refusalTexts } from "./0020_refusal_texts.ts"
import { remarkedTopUps } from "./0021_remarked_topups.ts"

export interface Migration {
  readonly name: string
  readonly statements: string
  /**
   * The last migration of the oldest release whose servers can run after this migration. The database stores this name,
   * so that a release without the named migration does not start. Migrations up to 0015 do not state it.
   */
  readonly compatibleSince?: string
  /**
   * The earlier migrations that this migration completes: it removes the tables and columns that they have replaced.
   * After 0015, only a migration with this member may drop, rename or restrict what an earlier migration has created.
   */
  readonly contracts?: ReadonlyArray<string>
}

/**
 * All migrations in the order of application. The SQL of a migration that was applied to any database does not change,
 * except for its comments. The error texts of functions and triggers have changed once, and `0020_refusal_texts` makes
 * the same change in the databases that have the old texts.
 */
export const migrations: ReadonlyArray<Migration> = [
  { name: "0001_foundation", statements: foundation },
  { name: "0002_stale_decisions", statements: staleDecisions },
  { name: "0003_reseller_programme", statements: resellerProgramme },
  { name: "0004_rankings", statements: rankings },
  { name: "0005_settlement_references", statements: settlementReferences },
  { name: "0006_images", statements: images },
  { name: "0007_usage_by_grain", statements: usageByGrain },
  { name: "0008_second_payments", statements: secondPayments },
  { name: "0009_embeddings", statements: embeddings },
  { name: "0010_growing_holds", statements: growingHolds },
  { name: "0011_unpaid_orders", statements: unpaidOrders },
  { name: "0012_reseller_lists", statements: resellerLists },
  { name: "0013_hosted_tools", statements: hostedTools },
  { name: "0014_key_limits", statements: keyLimits },
  { name: "0015_operator_sessions", statements: operatorSessions },
  { name: "0016_webhooks", statements: webhooks, compatibleSince: "0015_operator_sessions" },
  { name: "0017_topup_operations", statements: topUpOperations, compatibleSince: "0015_operator_sessions" },
  { name: "0018_key_peppers", statements: keyPeppers, compatibleSince: "0015_operator_sessions" },
  { name: "0019_node_versions", statements: nodeVersions, compatibleSince: "0015_operator_sessions" },
  { name: "0020_refusal_texts", statements: refusalTexts, compatibleSince: "0015_operator_sessions" },
  { name: "0021_remarked_topups", statements: remarkedTopUps, compatibleSince: "0015_operator_sessions" }
]

/** Key of the advisory lock. The number is arbitrary, but must be the same in every version of this program. */
const MIGRATION_LOCK = 8_436_201_775n

/** Limits of the waits for table locks: one wait, the pause until the next try, and the number of tries. */
export interface LockWaits {
  readonly lockMillis: number
  readonly pauseMillis: number
  readonly tries: number
}

/**
 * One wait is shorter than `deadlock_timeout`, so that a deadlock fails a try of the migration and not a request. There
 * are many tries, because another session, for example a backup, can hold its lock for minutes.
 */
export const LOCK_WAITS: LockWaits = { lockMillis: 500, pauseMillis: 2_000, tries: 90 }

/**
 * Applies the missing migrations and returns their names. `beforeCommit` gets these names, and is the last part of the
 * transaction: if it fails, no migration is applied.
 */
export const migrate = <E = never>(
  steps: ReadonlyArray<Migration> = migrations,
  { lockMillis, pauseMillis, tries }: LockWaits = LOCK_WAITS,
  beforeCommit: (missing: ReadonlyArray<string>) => Effect.Effect<void, E, SqlClient.SqlClient> = () => Effect.void
): Effect.Effect<ReadonlyArray<string>, Exclude<E, SqlError>, SqlClient.SqlClient> =>
  transact(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* withoutTimeLimits
      yield* sql`SET LOCAL lock_timeout = 0`
      yield* sql`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`
      yield* sql`CREATE TABLE IF NOT EXISTS migration (
        name text PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
      )`
      const missing = yield* missingOf(steps)
      if (missing.length === 0) return []
      yield* sql.unsafe(`SET LOCAL lock_timeout = ${lockMillis}`)
      yield* sql`ALTER TABLE migration ADD COLUMN IF NOT EXISTS compatible_since text`
      for (const { compatibleSince = null, name, statements } of missing) {
        yield* sql.unsafe(statements)
        yield* sql`INSERT INTO migration (name, compatible_since) VALUES (${name}, ${compatibleSince})`
      }
      const names = missing.map(({ name }) => name)
      yield* beforeCommit(names)
      return names
    })
  ).pipe(
    Effect.tapDefect((cause) =>
      isLockTimeout(cause)
        ? Effect.logWarning(
            "another session holds a lock that the migration needs; this try of the migration is rolled back"
          )
        : Effect.void
    ),
    Effect.sandbox,
    Effect.retry({
      while: isLockTimeout,
      schedule: Schedule.addDelay(Schedule.recurs(tries - 1), () => pauseMillis)
    }),
    Effect.unsandbox
  )

const isLockTimeout = (cause: Cause.Cause<unknown>): boolean =>
  Option.exists(Cause.dieOption(cause), isLockNotAvailable)

/** Returns the names of the migrations that are missing in this database. */
export const pending = (
  steps: ReadonlyArray<Migration> = migrations
): Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [known] = yield* sql<{ known: boolean }>`SELECT to_regclass('migration') IS NOT NULL AS known`
    return (known?.known ? yield* missingOf(steps) : steps).map(({ name }) => name)
  }).pipe(sqlErrorsAreDefects)

/**
 * Returns the names of the applied migrations that are incompatible with this program. A newer release has applied such
 * a migration, and its `compatible_since` is null or names a migration that this program does not contain.
 */
export const incompatible = (
  steps: ReadonlyArray<Migration> = migrations
): Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [known] = yield* sql<{ known: boolean }>`SELECT to_regclass('migration') IS NOT NULL AS known`
    if (known?.known !== true) return []
    // The column is missing in a database that no release after 0.1.0 has migrated.
    const rows = yield* sql<{ name: string; compatible_since: string | null }>`
      SELECT name, to_jsonb(migration) ->> 'compatible_since' AS compatible_since FROM migration ORDER BY name`
    const own = new Set(steps.map(({ name }) => name))
    return rows
      .filter(({ compatible_since: since, name }) => !own.has(name) && (since === null || !own.has(since)))
      .map(({ name }) => name)
  }).pipe(sqlErrorsAreDefects)

const missingOf = (steps: ReadonlyArray<Migration>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ name: string }>`SELECT name FROM migration`
    const applied = new Set(rows.map(({ name }) => name))
    return steps.filter(({ name }) => !applied.has(name))
  })
