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

/**
 * SQLSTATE classes: connection, transaction state, authorization, catalog and schema names, rollback, rights and
 * schema, resources, object state, operator intervention, system.
 */
const TROUBLE = new Set(["08", "25", "28", "3D", "3F", "40", "42", "53", "55", "57", "58"])

export const isTrouble = (error: unknown): boolean =>
  error instanceof ConnectionLost ||
  (error instanceof Pg.DatabaseError && error.code !== undefined && TROUBLE.has(error.code.slice(0, 2)))

/** What a log may say of a failure: never the row it was about. */
export const describe = (error: unknown): string => {
  if (error instanceof Pg.DatabaseError) {
    const where = error.constraint ?? error.table
    return `${error.code ?? "?????"} ${error.message}${where === undefined ? "" : ` (${where})`}`
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : "an error of no known kind"
}
