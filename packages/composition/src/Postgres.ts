/**
 * Provides the connection settings for the Postgres of a deployment: the server in DATABASE_URL, or the embedded
 * Postgres of a development machine. Also checks or migrates the schema.
 */
import { join } from "node:path"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Database } from "@tollgate/application/operations/Database"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { rootMessageOf, StartFailed } from "./StartFailed.ts"

/** The Postgres process that the program needs. */
export class PostgresProcess extends Context.Tag("@tollgate/composition/PostgresProcess")<
  PostgresProcess,
  {
    /** Fails when the embedded Postgres exits. Never completes when DATABASE_URL selects the Postgres. */
    readonly lost: Effect.Effect<never, StartFailed>
  }
>() {}

export type PostgresLayer = Layer.Layer<PgSettings.PgSettings | PostgresProcess, StartFailed>

/** Provides the connection settings for the Postgres server at this URL, the value of DATABASE_URL. */
export const fromUrl = (url: Redacted.Redacted<string>): PostgresLayer =>
  Layer.merge(
    Layer.effect(
      PgSettings.PgSettings,
      Effect.mapError(PgSettings.fromUrl(url), ({ reason }) => new StartFailed({ message: `DATABASE_URL: ${reason}` }))
    ),
    Layer.succeed(PostgresProcess, { lost: Effect.never })
  )

/** The part of `@tollgate/embedded-postgres/EmbeddedPostgres` that this file uses. */
export interface EmbeddedPostgresModule {
  readonly start: (options: { readonly directory: string }) => Effect.Effect<
    {
      readonly socketDir: string
      /** Fails when this Postgres exits. */
      readonly lost: Effect.Effect<never, { readonly message: string }>
    },
    { readonly message: string },
    Scope.Scope
  >
}

/**
 * Starts the embedded Postgres in the data directory, or joins it if another process already runs it. Provides the
 * connection settings for this Postgres.
 *
 * The caller passes the dynamic import of the package, because a production deployment may lack the package.
 */
export const fromEmbedded = (dataDir: string, importModule: () => Promise<EmbeddedPostgresModule>): PostgresLayer => {
  const startFailed = ({ message }: { readonly message: string }) => new StartFailed({ message })
  return Layer.scopedContext(
    Effect.gen(function* () {
      const { start } = yield* Effect.tryPromise({
        try: importModule,
        catch: () =>
          startFailed({
            message: "DATABASE_URL is not set and the embedded Postgres is not installed; set DATABASE_URL"
          })
      })
      const { lost, socketDir } = yield* Effect.mapError(start({ directory: join(dataDir, "postgres") }), startFailed)
      return Context.make(PgSettings.PgSettings, PgSettings.fromSocket(socketDir)).pipe(
        Context.add(PostgresProcess, { lost: Effect.mapError(lost, startFailed) })
      )
    })
  )
}

/**
 * Fails if a newer release has applied a migration that is incompatible with this release; other newer migrations are
 * allowed (ADR 0015).
 */
export const refuseIncompatibleSchema = Effect.gen(function* () {
  const { incompatibleMigrations } = yield* (yield* Database).state
  if (incompatibleMigrations.length === 0) return
  return yield* new StartFailed({
    message: `the database has the migrations ${incompatibleMigrations.join(", ")} of a newer release, and this release cannot run after these migrations; start the newer release`
  })
})

/**
 * Migrates the schema outside production. In production, fails if a migration is pending, because only the operator
 * applies migrations there, with `tollgate migrate`.
 */
export const migratedSchema = ({ production }: { readonly production: boolean }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const database = yield* Database
      yield* refuseIncompatibleSchema
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
