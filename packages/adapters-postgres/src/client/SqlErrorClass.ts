/**
 * Classifies database errors by SQLSTATE. An error is either transient, or treated as caused by the written rows.
 *
 * A transient error has a temporary cause: a lost connection, a restart, a concurrent transaction (deadlock, locked
 * row, changed row), exhausted resources such as disk space, a standby that is not promoted yet, wrong privileges, or
 * migrations that have not run yet. The written rows are valid, so a retry of the same work can succeed. Every other
 * error is treated as caused by a row: a retry fails again.
 */
import * as Pg from "pg"

/**
 * The connection was lost, could not be opened, or timed out. The outcome of a transaction that was running is unknown.
 */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost"
}

/**
 * Returns the five-character code of a driver error, or of the driver error that an SQL client error wraps; `undefined`
 * for an error without such a code.
 */
export const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

const SERIALIZATION_FAILURE = "40001"
const DEADLOCK_DETECTED = "40P01"
const LOCK_NOT_AVAILABLE = "55P03"
/** SQLSTATE raised by the SQL function `refuse_stale`. */
const STALE_DECISION = "TG001"

/** SQLSTATE class 40: the transaction was rolled back because of a concurrent transaction. */
const TRANSACTION_ROLLBACK = "40"
const OPERATOR_INTERVENTION = "57"

/**
 * SQLSTATE classes of errors that another connection might avoid: connection (08), cached plans of an older schema
 * (0A), transaction state (25), prepared statements (26), authorization (28), database names (3D), schema names (3F),
 * privileges and schema (42), resources (53), object state (55), operator intervention (57), system (58).
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

/**
 * Returns the SQLSTATE of an error that Postgres sent, otherwise an empty string. A driver error such as `EPIPE` also
 * has a code of five characters.
 */
const serverState = (error: unknown): string => (error instanceof Pg.DatabaseError ? (error.code ?? "") : "")

const classOf = (error: unknown): string => serverState(error).slice(0, 2)

/** Returns true for a transient error: a retry of the same work can succeed. */
export const isTransient = (error: unknown): boolean =>
  isConnectionLost(error) || classOf(error) === TRANSACTION_ROLLBACK || isStale(error)

/**
 * SQLSTATE classes of errors that the statement has not caused: the database is unavailable or has no resources, or a
 * concurrent transaction has caused the error.
 */
const UNAVAILABLE_CLASSES = new Set(["08", "28", "3D", TRANSACTION_ROLLBACK, "53", "55", OPERATOR_INTERVENTION, "58"])
/**
 * SQLSTATEs of class 25 that the statement has not caused: the database is a read-only standby, or the timeout of an
 * idle or of a long transaction has expired. Wrong statements cause the other errors of class 25.
 */
const UNAVAILABLE_STATES = new Set(["25006", "25P03", "25P04"])

const PROGRAMMING_ERRORS = [TypeError, RangeError, SyntaxError, ReferenceError]

/**
 * Returns true if the error of a pooled connection says that the database is unavailable. Unlike {@link isTransient},
 * returns false for wrong statements, such as a missing table. An error of the driver is a plain `Error`, and a wrong
 * value causes an error of another class, such as `TypeError`.
 */
export const isUnavailable = (error: unknown): boolean => {
  if (error instanceof Pg.DatabaseError) {
    return UNAVAILABLE_CLASSES.has(classOf(error)) || UNAVAILABLE_STATES.has(serverState(error))
  }
  return error instanceof Error && !PROGRAMMING_ERRORS.some((type) => error instanceof type)
}

/** Returns true only for a serialization failure or a deadlock: the same transaction can succeed if it runs again. */
export const isRepeatable = (error: unknown): boolean => {
  const state = sqlState(error)
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED
}

/**
 * Returns true if the database refused to write because a row that the decision is based on has changed, or because
 * another session had locked a row. Nothing was written.
 */
export const isStale = (error: unknown): boolean => serverState(error) === STALE_DECISION || isLocked(error)

/** Returns true for a lock timeout, even if an SQL client error wraps it. */
export const isLockNotAvailable = (error: unknown): boolean => sqlState(error) === LOCK_NOT_AVAILABLE

/**
 * Returns true if the database refused to write because another session held a lock, and the lock timeout expired or
 * the statement does not wait for locks. Nothing was written.
 */
export const isLocked = (error: unknown): boolean => serverState(error) === LOCK_NOT_AVAILABLE

/**
 * Returns true if the connection was lost, or if another connection might avoid the error, such as a connection to a
 * promoted standby or a session with the current schema.
 */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (CONNECTION_CLASSES.has(classOf(error)) && !isStale(error))

/**
 * Returns true if the outcome of the commit may be unknown: Postgres reported no error, or reported an operator
 * intervention such as a shutdown. After any other error from Postgres, nothing was committed.
 */
export const mayHaveCommitted = (error: unknown): boolean =>
  !(error instanceof Pg.DatabaseError) || classOf(error) === OPERATOR_INTERVENTION

/**
 * Returns a text for the log. The text omits the `detail` of a database error, because the detail contains row values.
 */
export const describe = (error: unknown): string => {
  if (error instanceof Pg.DatabaseError) {
    const where = error.constraint ?? error.table
    return `${error.code ?? "?????"} ${error.message}${where === undefined ? "" : ` (${where})`}`
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : "an error of an unknown type"
}
