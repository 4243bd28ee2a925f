/**
 * Settings of every connection of this process to the database, pooled or not.
 *
 * 64-bit integers are read as bigint, never as numbers; times are read as dates. The password is a function, so that
 * printing the settings does not show it.
 */
import * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Pg from "pg"

export class PgSettings extends Context.Tag("@tollgate/adapters-postgres/PgSettings")<PgSettings, Pg.ClientConfig>() {}

/** The text is not a valid database address. The reason names the invalid part and never repeats the text. */
export class DatabaseUrlInvalid extends Schema.TaggedError<DatabaseUrlInvalid>()("DatabaseUrlInvalid", {
  reason: Schema.String
}) {}

const INT8 = 20

const types: Pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === INT8 && format !== ("binary" as string)
      ? BigInt
      : Pg.types.getTypeParser(oid, format)) as Pg.CustomTypesConfig["getTypeParser"]
}

/**
 * Limit for the time that a transaction waits for this process between two statements. A transaction calls nothing
 * outside the database, so a longer wait means that the process is stuck while other sessions wait for its locks.
 */
export const IDLE_IN_TRANSACTION_MILLIS = 5_000

/** Every wait has a timeout. Long work (the audit, migrations) raises its own inside its transaction. */
const common: Pg.ClientConfig = {
  application_name: "tollgate",
  connectionTimeoutMillis: 5_000,
  statement_timeout: 30_000,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLIS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 30_000,
  types
}

/** An embedded or local Postgres on a unix socket; access to the socket is the permission. */
export const fromSocket = (socketDir: string, database = "postgres"): Pg.ClientConfig => ({
  ...common,
  host: socketDir,
  user: "postgres",
  database
})

/**
 * A `postgres://` address. `sslmode` has the meaning of libpq: `require` encrypts, `verify-full` also checks the
 * certificate of the server.
 * A unix socket is written `postgres://user@/database?host=/socket/dir`.
 */
export const fromUrl = (url: Redacted.Redacted<string>): Either.Either<Pg.ClientConfig, DatabaseUrlInvalid> => {
  const text = Redacted.value(url)
  const invalid = (reason: string) => Either.left(new DatabaseUrlInvalid({ reason }))
  if (!/^postgres(ql)?:\/\//.test(text)) return invalid("it does not start with postgres:// or postgresql://")
  const connectionString = /[?&]uselibpqcompat=/.test(text)
    ? text
    : `${text}${text.includes("?") ? "&" : "?"}uselibpqcompat=true`
  // The driver parses the address; it opens no connection before `connect`.
  return Either.try({
    try: () => new Pg.Client({ connectionString }),
    catch: (cause) => new DatabaseUrlInvalid({ reason: cause instanceof Error ? cause.message : "it cannot be read" })
  }).pipe(
    Either.flatMap((client) => {
      if (!Number.isInteger(client.port)) return invalid("the port is not a number")
      const password = client.password ?? undefined
      return Either.right({
        ...common,
        host: client.host,
        port: client.port,
        ...(client.user === undefined ? {} : { user: client.user }),
        ...(client.database === undefined ? {} : { database: client.database }),
        ...(password === undefined ? {} : { password: () => password }),
        ssl: client.ssl
      })
    })
  )
}

export const layer = (settings: Pg.ClientConfig): Layer.Layer<PgSettings> => Layer.succeed(PgSettings, settings)
