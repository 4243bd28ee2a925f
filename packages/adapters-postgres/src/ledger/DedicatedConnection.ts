/**
 * Keeps one database connection for a single caller, and opens another connection after a loss.
 *
 * Each statement with parameters is prepared once per connection, with a plan that finds rows by index. A transaction
 * that reads usually takes two round trips: the first begins the transaction and reads, the second writes and commits.
 * The method `write` runs a transaction of a single statement. When a transaction exceeds its timeout, the socket is
 * destroyed, so an unresponsive database cannot block the caller.
 *
 * A backend is the Postgres process of one connection. A new connection first terminates the backend of the previous
 * connection. A later read therefore shows reliably whether the last transaction on the previous connection was
 * committed.
 *
 * With synchronous replication, a commit waits for the standby. If the backend is terminated during this wait, the
 * transaction becomes visible although the standby may not have stored it. A failover can lose such a transaction.
 * Therefore a new connection commits its own record, and waits until the standby has stored this record and all earlier
 * records.
 */
import * as Pg from "pg"
import { IDLE_IN_TRANSACTION_MILLIS } from "../client/PgSettings.ts"
import { ConnectionLost, isConnectionLost, mayHaveCommitted } from "../client/SqlErrorClass.ts"
import { type Driver, type DriverClient, pgDriver, type Response } from "./LedgerDriver.ts"

/** A statement with a fixed text, prepared under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A statement with its parameters. */
export interface BoundStatement {
  readonly statement: Statement
  readonly values: ReadonlyArray<unknown>
}

/** Rows as arrays of column values. */
export type Rows = ReadonlyArray<ReadonlyArray<unknown>>
export type Query = (statement: Statement, values: ReadonlyArray<unknown>) => Promise<Rows>

export interface Decided<A> {
  readonly result: A
  /** Statement that writes the result; undefined when there is nothing to write. */
  readonly write: BoundStatement | undefined
}

export interface ConnectionLimits {
  readonly connectMillis: number
  /**
   * Timeout of a whole transaction, measured by this process. Postgres cancels a single statement after the same
   * time.
   */
  readonly transactionMillis: number
  /** Lock timeout of a transaction with the lock wait `bounded`. */
  readonly lockMillis: number
}

/** Identifies a backend. A process id alone is not enough, because the operating system can reuse it. */
type Backend = readonly [pid: unknown, startedAt: unknown]

/** How long a transaction waits for a row that another session has locked: up to `lockMillis`, or not at all. */
export type LockWait = "bounded" | "none"

/**
 * Returns the statements that begin a transaction. Lock waits are bounded, so a forgotten transaction of another
 * session cannot block the ledger.
 */
const beginWith = (lockMillis: number): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = ${lockMillis}`

/** The shortest lock timeout in milliseconds; 0 would disable the timeout. */
const NO_LOCK_WAIT_MILLIS = 1

const NO_BACKEND: Backend = [0, "-infinity"]

export class DedicatedConnection {
  readonly #settings: Pg.ClientConfig
  readonly #limits: ConnectionLimits
  readonly #driver: Driver
  readonly #begin: Readonly<Record<LockWait, string>>
  #open: DriverClient | undefined
  #opening: DriverClient | undefined
  #closed = false
  #backend = NO_BACKEND

  constructor(settings: Pg.ClientConfig, limits: ConnectionLimits, driver: Driver = pgDriver) {
    this.#settings = settings
    this.#limits = limits
    this.#driver = driver
    this.#begin = { bounded: beginWith(limits.lockMillis), none: beginWith(NO_LOCK_WAIT_MILLIS) }
  }

  /**
   * Runs one transaction. The caller must not start another transaction before this one ends. Fails with
   * {@link ConnectionLost}, with the database error, or with the error that `work` throws. After such a failure nothing
   * is written, unless the outcome of the commit is unknown. `onUnknownCommit` is then called with the result that a
   * successful commit would have had.
   */
  async transact<A>(
    work: (query: Query) => Promise<Decided<A>>,
    onUnknownCommit: (result: A) => void = ignore,
    lockWait: LockWait = "bounded"
  ): Promise<A> {
    const client = this.#open ?? (await this.#connect())
    const timer = setTimeout(() => this.#drop(client), this.#limits.transactionMillis)
    // The first error causes the errors of the later statements, so the first error is reported.
    let refused: unknown
    try {
      const begun = simpleQuery(client, this.#begin[lockWait])
      begun.catch(ignore)
      const { result, write } = await work(async (statement, values) => {
        try {
          return (await prepared(client, statement, values)).rows
        } catch (error) {
          refused ??= error
          throw error
        }
      })
      await begun
      try {
        await commit(client, write)
      } catch (error) {
        if (mayHaveCommitted(error)) onUnknownCommit(result)
        throw error
      }
      return result
    } catch (error) {
      const cause = refused ?? error
      await this.#rollBack(client, cause)
      throw cause
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Runs a transaction of one statement. The statement does not wait for locks: a session that has locked a row
   * probably changes this row, so the decision of this transaction is probably outdated. Calls `onUnknownCommit` when
   * the outcome is unknown, for example because the connection was lost.
   */
  async write({ statement, values }: BoundStatement, onUnknownCommit: () => void): Promise<void> {
    const client = this.#open ?? (await this.#connect())
    const timer = setTimeout(() => this.#drop(client), this.#limits.transactionMillis)
    try {
      await prepared(client, statement, values)
    } catch (error) {
      if (mayHaveCommitted(error)) onUnknownCommit()
      if (isConnectionLost(error)) this.#drop(client)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the connection, which aborts the running transaction. The next transaction opens another connection. */
  cut(): void {
    this.#opening?.destroy()
    if (this.#open !== undefined) this.#drop(this.#open)
  }

  /**
   * Closes the connection permanently. Also closes a connection that is still being opened, because an open connection
   * would keep the process alive.
   */
  close(): void {
    this.#closed = true
    this.cut()
  }

  async #connect(): Promise<DriverClient> {
    if (this.#closed) throw new ConnectionLost("the connection was closed by this process")
    const client = this.#driver.open({
      ...this.#settings,
      pipeline: true,
      application_name: "tollgate ledger",
      // The timer below limits the whole time for connecting and for the setup statements.
      connectionTimeoutMillis: 0
    })
    this.#opening = client
    client.on("error", () => this.#drop(client))
    client.on("end", () => this.#drop(client))
    const timer = setTimeout(() => client.destroy(), this.#limits.connectMillis)
    try {
      await client.connect().catch(lost)
      await simpleQuery(client, setUp(this.#limits))
      await this.#endPredecessor(client)
      // The identity of this backend is already stored. If the backend hangs in this statement, the next connection
      // terminates it.
      await simpleQuery(client, REPLICATE)
    } catch (error) {
      client.destroy()
      throw error
    } finally {
      clearTimeout(timer)
      this.#opening = undefined
    }
    this.#open = client
    return client
  }

  /**
   * Terminates the previous backend if it still runs, and stores the identity of the new backend. A connection pooler
   * can give the previous backend to the new connection. In this case, no transaction runs on this backend.
   */
  async #endPredecessor(client: DriverClient): Promise<void> {
    const { rows: ended } = await prepared(client, END_BACKEND, [...this.#backend, this.#limits.connectMillis])
    if (ended.some(([gone]) => gone !== true))
      throw new ConnectionLost("the backend of the previous connection has not ended yet")
    const { rows } = await simpleQuery(client, OWN_BACKEND)
    const [[pid, startedAt] = NO_BACKEND] = rows
    this.#backend = [pid, startedAt]
  }

  /**
   * Rolls back the transaction. Responses arrive in order, so this also waits for the responses to all earlier
   * statements.
   */
  async #rollBack(client: DriverClient, error: unknown): Promise<void> {
    const rolledBack = await simpleQuery(client, "ROLLBACK").then(
      () => true,
      () => false
    )
    if (!rolledBack || isConnectionLost(error)) this.#drop(client)
  }

  #drop(client: DriverClient): void {
    client.destroy()
    if (this.#open === client) this.#open = undefined
  }
}

// A cached plan stays in use while its tables grow, so a plan that was made for a small table must not scan the table.
const setUp = ({ transactionMillis }: ConnectionLimits) => `
  SET statement_timeout = ${transactionMillis};
  SET idle_in_transaction_session_timeout = ${Math.min(transactionMillis, IDLE_IN_TRANSACTION_MILLIS)};
  SET lock_timeout = ${NO_LOCK_WAIT_MILLIS};
  SET default_transaction_isolation = 'read committed';
  SET default_transaction_read_only = off;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off`

const OWN_BACKEND = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"

/** Fails on a standby, which is read-only. */
const REPLICATE = "BEGIN READ WRITE; SELECT pg_logical_emit_message(true, 'tollgate', ''); COMMIT"

const END_BACKEND: Statement = {
  name: "end_backend",
  text: `
    SELECT pg_terminate_backend(pid, $3)
    FROM pg_stat_activity
    WHERE pid = $1 AND backend_start = $2::text::timestamptz AND pid <> pg_backend_pid()`
}

const simpleQuery = (client: DriverClient, text: string): Promise<Response> =>
  client.query({ text, rowMode: "array" }).catch(lost)

const prepared = (client: DriverClient, { name, text }: Statement, values: ReadonlyArray<unknown>): Promise<Response> =>
  client.query({ name, text, values: [...values], rowMode: "array" }).catch(lost)

const commit = async (client: DriverClient, write: BoundStatement | undefined): Promise<void> => {
  const written = write && prepared(client, write.statement, write.values)
  const [committed] = await Promise.all([simpleQuery(client, "COMMIT"), written])
  if (committed.command !== "COMMIT") throw new ConnectionLost("Postgres rolled back instead of committing")
}

/** Throws an error of Postgres unchanged, and any other error of the driver as a lost connection. */
const lost = (error: unknown): never => {
  throw error instanceof Pg.DatabaseError ? error : new ConnectionLost(error instanceof Error ? error.message : "")
}

const ignore = () => {}
