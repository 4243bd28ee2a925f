/**
 * Closes pooled connections on which the database does not respond.
 *
 * Postgres ends a statement after `statement_timeout` and reports this. No report arrives if Postgres or the network is
 * frozen, or if a commit waits for a standby. TCP reports a frozen network only after many minutes. A connection on
 * which nothing arrives for longer than the statement timeout, while a statement runs, is therefore closed: the
 * statement fails as on a lost connection, and the pool opens another connection.
 */
import type { Socket } from "node:net"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Pg from "pg"
import { STATEMENT_TIMEOUT_MILLIS } from "./PgSettings.ts"
import { ConnectionLost } from "./SqlErrorClass.ts"

/**
 * The time without a response after which a connection is closed. It is longer than the statement timeout, so that the
 * database reports a slow statement before its connection is closed.
 */
export class ResponseTimeout extends Context.Reference<ResponseTimeout>()(
  "@tollgate/adapters-postgres/ResponseTimeout",
  {
    defaultValue: () => STATEMENT_TIMEOUT_MILLIS + 5_000
  }
) {}

/** Closes each connection of the pool on which nothing arrives for `millis` while a statement runs. */
export const closeSilentConnections = (pool: Pg.Pool, millis: number): void => {
  pool.on("connect", (client) => {
    const socket = socketOf(client)
    socket.setTimeout(millis)
    socket.on("timeout", () => {
      // Without this check, the callback below could close the connection under a statement that has just started.
      if (!isRunning(client)) return
      const { bytesRead } = socket
      // If this process was paused, the response can have arrived already. Node.js reads sockets before this callback.
      setImmediate(() => {
        if (!isRunning(client) || socket.bytesRead > bytesRead) return
        socket.destroy(new ConnectionLost(`the database did not respond for ${millis} ms`))
      })
    })
  })
  pool.on("release", (_, client) => {
    const socket = socketOf(client)
    if (socket.timeout === 0) socket.setTimeout(millis)
  })
}

/**
 * Removes the time limits of the statements in the current transaction. Only work for which no customer and no reseller
 * waits may use it: migrations, the audit, reports of the command line, and the rebuild of the rankings.
 */
export const withoutTimeLimits: Effect.Effect<void, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET LOCAL statement_timeout = 0`
  const transaction = yield* Effect.serviceOption(SqlClient.TransactionConnection)
  // The SQL client does not declare the member that holds the connection of the driver.
  if (Option.isSome(transaction) && "pg" in transaction.value[0]) {
    socketOf(transaction.value[0].pg as Pg.PoolClient).setTimeout(0)
  }
})

/** Every connection of the driver has a socket, also with TLS. */
const socketOf = (client: Pg.PoolClient): Socket => client.connection.stream as Socket

/** Returns true from the start of a statement until Postgres is ready for the next one. */
const isRunning = (client: Pg.PoolClient): boolean => "readyForQuery" in client && client.readyForQuery === false
