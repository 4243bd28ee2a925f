/**
 * Classes of database errors, by SQLSTATE: errors that a retry can cure, and errors about the rows themselves.
 *
 * A transient error has a cause that passes: a lost connection, a restart, a deadlock, a full disk, a standby that is
 * not promoted yet, migrations that have not run yet. It would have hit any other rows too, so the work is retried
 * until it succeeds. Every other error is about a row, and a retry does not help.
 */
import * as Pg from "pg"

/** The connection broke, could not be opened, or timed out. The outcome of the running transaction is unknown. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost"
}

/**
 * The SQLSTATE of an error of the driver, or of the client around it; `undefined` when the error did not come from the
 * database.
 */
export const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

const SERIALIZATION_FAILURE = "40001"
const DEADLOCK_DETECTED = "40P01"
const LOCK_NOT_AVAILABLE = "55P03"
/** Raised by `refuse_stale`. */
const STALE_DECISION = "TG001"

/** Class 40: the transaction was rolled back because of a concurrent one. */
const TRANSACTION_ROLLBACK = "40"
const OPERATOR_INTERVENTION = "57"

/**
 * Classes after which another connection may succeed: connection, plans of an older schema, transaction state, prepared
 * statements, authorization, catalog and schema names, rights and schema, resources, object state, operator
 * intervention, system.
 */
const CONNECTION_CLASSES = new Set([
  "08",
  "0A",
  "25",
  "26",
  "28",
  "3D",
  "3F",
  "42",
  "53",
  "55",
  OPERATOR_INTERVENTION,
  "58"
])

/** Only of errors that the server sent: a driver error such as `EPIPE` also has a code of five characters. */
const serverState = (error: unknown): string => (error instanceof Pg.DatabaseError ? (error.code ?? "") : "")

const classOf = (error: unknown): string => serverState(error).slice(0, 2)

/** A retry of the same work can succeed. */
export const isTransient = (error: unknown): boolean =>
  isConnectionLost(error) || classOf(error) === TRANSACTION_ROLLBACK || isStale(error)

/** A whole transaction of a store can succeed when repeated: a serialization failure or a deadlock. */
export const isRepeatable = (error: unknown): boolean => {
  const state = sqlState(error)
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED
}

/** Nothing was written: a row that the decision relied on has changed, or another session holds its lock. */
export const isStale = (error: unknown): boolean => serverState(error) === STALE_DECISION || isLocked(error)

/** Nothing was written: another session holds the lock of a row for longer than the lock timeout. */
export const isLocked = (error: unknown): boolean => serverState(error) === LOCK_NOT_AVAILABLE

/** Another connection may succeed: to a server that took over, or with a session of the current schema. */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (CONNECTION_CLASSES.has(classOf(error)) && !isStale(error))

/** A server that refuses a statement has not committed it. One that shuts down, or a lost connection, may have. */
export const mayHaveCommitted = (error: unknown): boolean =>
  !(error instanceof Pg.DatabaseError) || classOf(error) === OPERATOR_INTERVENTION

/** Text for a log. It never contains values of the row. */
export const describe = (error: unknown): string => {
  if (error instanceof Pg.DatabaseError) {
    const where = error.constraint ?? error.table
    return `${error.code ?? "?????"} ${error.message}${where === undefined ? "" : ` (${where})`}`
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : "an error of an unknown type"
}
