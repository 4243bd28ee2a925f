/**
 * Whether a failed transaction is the fault of the database's state or of what it was given.
 *
 * Trouble passes: a lost connection, a restart, a deadlock, a full disk, a standby not yet promoted, migrations not
 * yet run. It would have hit any other rows as well, so the work is tried again until it is over. Everything else is
 * about a row, and trying again would not help.
 */
import * as Pg from "pg"

/** The connection broke, could not be made, or did not answer in time: what was under way may or may not be done. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost"
}

const LOST_RACE = "40"
const LOCKED = "55P03"
/** What `refuse_stale` raises, and a lock that is not free: somebody else has changed a row, or is about to. */
const STALE = new Set(["TG001", LOCKED])

/**
 * SQLSTATE classes: connection, plans of an older schema, transaction state, prepared statements, authorization,
 * catalog and schema names, rights and schema, resources, object state, operator intervention, system.
 */
const UNFIT = new Set(["08", "0A", "25", "26", "28", "3D", "3F", "42", "53", "55", "57", "58"])

const classOf = (error: unknown): string | undefined =>
  error instanceof Pg.DatabaseError ? error.code?.slice(0, 2) : undefined

export const isTransient = (error: unknown): boolean =>
  isConnectionLost(error) || classOf(error) === LOST_RACE || isStale(error)

/** Nothing was written: what the decision relied on is no longer so. */
export const isStale = (error: unknown): boolean => error instanceof Pg.DatabaseError && STALE.has(error.code ?? "")

/** Somebody else has a row, and keeps it for longer than it was waited for. Nothing was written. */
export const isLocked = (error: unknown): boolean => error instanceof Pg.DatabaseError && error.code === LOCKED

/** Trouble that another connection may not have: with a server that took over, or a session of today's schema. */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (UNFIT.has(classOf(error) ?? "") && !isStale(error))

/** What a log may say of a failure: never the row it was about. */
export const describe = (error: unknown): string => {
  if (error instanceof Pg.DatabaseError) {
    const where = error.constraint ?? error.table
    return `${error.code ?? "?????"} ${error.message}${where === undefined ? "" : ` (${where})`}`
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : "an error of no known kind"
}
