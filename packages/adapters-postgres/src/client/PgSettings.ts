/**
 * Builds the settings of every database connection of this process, pooled or dedicated.
 *
 * 64-bit integers are read as bigint, never as number, and times are read as Date. The password is a function, so
 * printing the settings does not show the password.
 */
import * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Pg from "pg"

export class PgSettings extends Context.Tag("@tollgate/adapters-postgres/PgSettings")<PgSettings, Pg.ClientConfig>() {}

/** The text is not a valid database URL. `reason` describes the mistake and never repeats the text. */
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
 * Maximum time for which a transaction is allowed to be idle between two statements. Only the computation of the
 * rankings sets a longer time. Every other transaction calls nothing outside the database, so a longer idle time means
 * that the process is stuck. Other sessions may then wait for its locks.
 */
export const IDLE_IN_TRANSACTION_MILLIS = 5_000

/** Time after which Postgres ends a statement. */
export const STATEMENT_TIMEOUT_MILLIS = 30_000

/**
 * Default settings of the connections, with timeouts for connecting, for a statement and for an idle transaction. Long
 * transactions (the audit, migrations, reports of the command line, the rebuild of the rankings) disable the statement
 * timeout for themselves.
 */
const common: Pg.ClientConfig = {
  application_name: "tollgate",
  connectionTimeoutMillis: 5_000,
  statement_timeout: STATEMENT_TIMEOUT_MILLIS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLIS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 30_000,
  types
}

/**
 * States every parameter that the driver would otherwise read from variables such as PGPORT, PGSSLMODE and PGOPTIONS.
 * These variables belong to another Postgres. The driver ignores an empty text, so a space states that there are no
 * options. Postgres reads the text "false" as no replication.
 */
const nothingFromEnvironment = {
  port: 5432,
  ssl: false,
  sslnegotiation: "postgres",
  options: " ",
  replication: "false"
} as const

/**
 * Returns the settings for the embedded Postgres on a Unix socket, where access to the socket is the only
 * authentication.
 */
export const fromSocket = (socketDir: string, database = "postgres"): Pg.ClientConfig => ({
  ...common,
  ...nothingFromEnvironment,
  host: socketDir,
  user: "postgres",
  database
})

/**
 * Matches a URL with several hosts. A client alone cannot know which of the hosts may accept writes after a failover.
 */
const SEVERAL_HOSTS = /^[a-z]+:\/\/(?:[^@/?]*@)?[^@/?]*,[^@/?]*(?:[/?]|$)|[?&]host=[^&]*(?:,|%2C)/i

/**
 * Parses a `postgres://` URL. `sslmode` has the same meaning as in libpq: `require` encrypts, and `verify-full` also
 * checks the certificate of the database server. Unlike in libpq, `prefer` never uses an unencrypted connection. The
 * URL of a Unix socket is `postgres://user@/database?host=/socket/dir`.
 */
export const fromUrl = (url: Redacted.Redacted<string>): Either.Either<Pg.ClientConfig, DatabaseUrlInvalid> => {
  const text = Redacted.value(url)
  const invalid = (reason: string) => Either.left(new DatabaseUrlInvalid({ reason }))
  if (!/^postgres(ql)?:\/\//.test(text)) return invalid("it does not start with postgres:// or postgresql://")
  if (SEVERAL_HOSTS.test(text)) {
    return invalid(
      "it names several hosts; name one address that always connects to the primary, such as the address of an HAProxy"
    )
  }
  const connectionString = /[?&]uselibpqcompat=/.test(text)
    ? text
    : `${text}${text.includes("?") ? "&" : "?"}uselibpqcompat=true`
  // The driver parses the URL, and opens no connection before `connect`.
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
