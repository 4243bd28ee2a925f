/**
 * The Postgres of an installation, and the end of the program when an embedded Postgres ends.
 */
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Database } from "@tollgate/application/operations/Database"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { rootMessageOf, StartFailed } from "./StartFailed.ts"

/** The Postgres process behind the database. */
export class PostgresProcess extends Context.Tag("@tollgate/composition/PostgresProcess")<
  PostgresProcess,
  {
    /** Fails when an embedded Postgres ends; a Postgres of DATABASE_URL is watched by its own operator. */
    readonly lost: Effect.Effect<never, StartFailed>
  }
>() {}

export type PostgresLayer = Layer.Layer<PgSettings.PgSettings | PostgresProcess, StartFailed>

/** The database of `DATABASE_URL`. */
export const fromUrl = (url: Redacted.Redacted<string>): PostgresLayer =>
  Layer.merge(
    Layer.effect(
      PgSettings.PgSettings,
      Effect.mapError(PgSettings.fromUrl(url), ({ reason }) => new StartFailed({ message: `DATABASE_URL: ${reason}` }))
    ),
    Layer.succeed(PostgresProcess, { lost: Effect.never })
  )

/** A Postgres cluster that this program started or joined. */
export interface RunningCluster {
  readonly socketDir: string
  readonly lost: Effect.Effect<never, { readonly message: string }>
}

/** The database of an embedded cluster, which an app starts by this effect. */
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

/** Migrates the schema in development. Production migrates with `tollgate migrate`; a server there refuses to start. */
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
          message: `the database lacks ${pendingMigrations.join(", ")}; run: tollgate migrate`
        })
      }
    }).pipe(
      Effect.catchAllDefect(
        (defect) => new StartFailed({ message: `the database cannot be used: ${rootMessageOf(defect)}` })
      )
    )
  )
