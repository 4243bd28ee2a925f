/**
 * How to reach the database: what every connection of this process is opened with, pooled or not.
 *
 * 64-bit integers come back as bigint, never as numbers; times come back as dates. The password is handed over by a
 * function, so that printing the settings does not show it.
 */
import * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Pg from "pg"

export class PgSettings extends Context.Tag("@tollgate/adapters-postgres/PgSettings")<PgSettings, Pg.ClientConfig>() {}

/** The text is no database address; the reason names the part at fault and never the text. */
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
 * What a transaction may wait for us between two statements. Nothing is asked of anybody else in one, so whoever takes
 * this long is stuck, and others wait for its locks.
 */
export const IDLE_IN_TRANSACTION_MILLIS = 5_000

/** Bounds on everything that could wait for ever; long work (the audit, migrations) lifts its own inside its transaction. */
const common: Pg.ClientConfig = {
  application_name: "tollgate",
  connectionTimeoutMillis: 5_000,
  statement_timeout: 30_000,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLIS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 30_000,
  types
}

/** A Postgres of our own or of this machine, on a unix socket, where being able to reach the socket is the permission. */
export const fromSocket = (socketDir: string, database = "postgres"): Pg.ClientConfig => ({
  ...common,
  host: socketDir,
  user: "postgres",
  database
})

/**
 * A `postgres://` address. `sslmode` means what libpq says: `require` encrypts, `verify-full` also checks who answers.
 * A unix socket is written `postgres://user@/database?host=/socket/dir`.
 */
export const fromUrl = (url: Redacted.Redacted<string>): Either.Either<Pg.ClientConfig, DatabaseUrlInvalid> => {
  const text = Redacted.value(url)
  const invalid = (reason: string) => Either.left(new DatabaseUrlInvalid({ reason }))
  if (!/^postgres(ql)?:\/\//.test(text)) return invalid("it does not start with postgres:// or postgresql://")
  const connectionString = /[?&]uselibpqcompat=/.test(text)
    ? text
    : `${text}${text.includes("?") ? "&" : "?"}uselibpqcompat=true`
  // The driver reads the address; no connection is opened before `connect`.
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
