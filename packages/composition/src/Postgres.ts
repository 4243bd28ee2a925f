/**
 * Connects to the Postgres of a deployment, and stops the program if an embedded Postgres exits.
 */
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Database } from "@tollgate/application/operations/Database"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { rootMessageOf, StartFailed } from "./StartFailed.ts"

/** The Postgres process that the program depends on. */
export class PostgresProcess extends Context.Tag("@tollgate/composition/PostgresProcess")<
  PostgresProcess,
  {
    /** Fails when an embedded Postgres exits; never completes for a Postgres in DATABASE_URL. */
    readonly lost: Effect.Effect<never, StartFailed>
  }
>() {}

export type PostgresLayer = Layer.Layer<PgSettings.PgSettings | PostgresProcess, StartFailed>

/** Connects to the database in `DATABASE_URL`. */
export const fromUrl = (url: Redacted.Redacted<string>): PostgresLayer =>
  Layer.merge(
    Layer.effect(
      PgSettings.PgSettings,
      Effect.mapError(PgSettings.fromUrl(url), ({ reason }) => new StartFailed({ message: `DATABASE_URL: ${reason}` }))
    ),
    Layer.succeed(PostgresProcess, { lost: Effect.never })
  )

/** An embedded Postgres cluster that this program started or joined. */
export interface RunningCluster {
  readonly socketDir: string
  readonly lost: Effect.Effect<never, { readonly message: string }>
}

/** Connects to the database of an embedded cluster, after running the effect that starts the cluster. */
export const fromCluster = (
  start: Effect.Effect<RunningCluster, { readonly message: string }, Scope.Scope>
): PostgresLayer => {
  const startFailed = ({ message }: { readonly message: string }) => new StartFailed({ message })
  return Layer.scopedContext(
    Effect.map(Effect.mapError(start, startFailed), ({ lost, socketDir }) =>
      Context.make(PgSettings.PgSettings, PgSettings.fromSocket(socketDir)).pipe(
        Context.add(PostgresProcess, { lost: Effect.mapError(lost, startFailed) })
      )
    )
  )
}

/**
 * Migrates the schema in development. In production, fails if a migration is pending: `tollgate migrate` applies it.
 */
export const migratedSchema = ({ production }: { readonly production: boolean }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const database = yield* Database
      if (!production) {
        const applied = yield* database.migrate
        return applied.length > 0 ? yield* Effect.logInfo("database migrated", { applied }) : undefined
      }
      const { pendingMigrations } = yield* database.state
      if (pendingMigrations.length > 0) {
        return yield* new StartFailed({
          message: `the database lacks the migrations ${pendingMigrations.join(", ")}; run: tollgate migrate`
        })
      }
    }).pipe(
      Effect.catchAllDefect(
        (defect) => new StartFailed({ message: `the database cannot be used: ${rootMessageOf(defect)}` })
      )
    )
  )
