/**
 * One connection to the database with one user, reopened when it breaks.
 *
 * Its statements are prepared once and planned for looking rows up by key. A transaction costs two round trips: one
 * begins it and asks, one writes and commits; one that only writes is a single statement. None takes longer than its time
 * limit, whatever has become of the server: the socket is cut then. A new connection first sees to it that what its
 * predecessor had begun has ended, so that whoever looks afterwards sees for certain whether it was committed.
 */
import { Socket } from "node:net"
import * as Pg from "pg"
import { IDLE_IN_TRANSACTION_MILLIS } from "../client/PgSettings.ts"
import { ConnectionLost, isConnectionLost } from "../client/SqlErrorClass.ts"

/** A statement of fixed text, prepared under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A statement with its parameters. */
export interface Call {
  readonly statement: Statement
  readonly values: ReadonlyArray<unknown>
}

/** Rows come back as arrays of columns. */
export type Rows = ReadonlyArray<ReadonlyArray<unknown>>
export type Ask = (statement: Statement, values: ReadonlyArray<unknown>) => Promise<Rows>

/** What a transaction came to, and what it has to write for that, if anything. */
export interface Decided<A> {
  readonly result: A
  readonly write: Call | undefined
}

export interface ConnectionLimits {
  readonly connectMillis: number
  /** For a whole transaction, seen from here; the server gives up on a statement after the same time. */
  readonly transactionMillis: number
  /** A transaction that asks waits for a lock at most this long. */
  readonly lockMillis: number
}

interface Open {
  readonly client: Pg.Client
  readonly socket: Socket
}

/** Names a backend for as long as the server runs; process ids alone are used again. */
type Backend = readonly [pid: unknown, startedAt: unknown]

/** How long a transaction waits for a lock: as long as the connection's limit says, or not at all. */
export type Patience = "some" | "none"

/** Whoever asks first waits for locks, but not for whoever forgot that they have one. */
const beginning = (lockMillis: number): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = ${lockMillis}`

/** Milliseconds; 0 would be for ever. */
const NOT_AT_ALL = 1

const NO_BACKEND: Backend = [0, "-infinity"]

export class DedicatedConnection {
  readonly #settings: Pg.ClientConfig
  readonly #limits: ConnectionLimits
  readonly #begin: Readonly<Record<Patience, string>>
  #open: Open | undefined
  #opening: Socket | undefined
  #closed = false
  #backend = NO_BACKEND

  constructor(settings: Pg.ClientConfig, limits: ConnectionLimits) {
    this.#settings = settings
    this.#limits = limits
    this.#begin = { some: beginning(limits.lockMillis), none: beginning(NOT_AT_ALL) }
  }

  /**
   * Fails with {@link ConnectionLost}, with the database's refusal, or with what `work` throws; nothing was written
   * then. Only when the connection breaks at the commit nobody knows, and `doubt` is told what it would have come to.
   * One at a time.
   */
  async transact<A>(
    work: (ask: Ask) => Promise<Decided<A>>,
    doubt: (result: A) => void = ignore,
    patience: Patience = "some"
  ): Promise<A> {
    const open = this.#open ?? (await this.#connect())
    const { client } = open
    const timer = setTimeout(() => this.#drop(open), this.#limits.transactionMillis)
    // What is refused first is why the rest is, whichever of them the work hears of first.
    let refused: unknown
    try {
      const begun = query(client, this.#begin[patience])
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
        if (mayHaveCommitted(error)) doubt(result)
        throw error
      }
      return result
    } catch (error) {
      const why = refused ?? error
      await this.#abandon(open, why)
      throw why
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * A transaction of one statement. It does not wait for locks: who holds one is changing what was decided over. `doubt`
   * is called when the connection breaks and nobody knows whether it was carried out.
   */
  async write({ statement, values }: Call, doubt: () => void): Promise<void> {
    const open = this.#open ?? (await this.#connect())
    const timer = setTimeout(() => this.#drop(open), this.#limits.transactionMillis)
    try {
      await prepared(open.client, statement, values)
    } catch (error) {
      if (mayHaveCommitted(error)) doubt()
      if (isConnectionLost(error)) this.#drop(open)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** What is under way is lost; the next transaction opens another connection. */
  cut(): void {
    this.#opening?.destroy()
    if (this.#open !== undefined) this.#drop(this.#open)
  }

  /** For good, also where a connection is just being opened: it would keep the process alive. */
  close(): void {
    this.#closed = true
    this.cut()
  }

  async #connect(): Promise<Open> {
    if (this.#closed) throw new ConnectionLost("the connection was closed here")
    const socket = new Socket()
    this.#opening = socket
    const client = new Pg.Client({
      ...this.#settings,
      pipeline: true,
      application_name: "tollgate ledger",
      // The timer below ends the whole of it, which includes more than connecting.
      connectionTimeoutMillis: 0,
      stream: () => socket
    })
    const open = { client, socket }
    client.on("error", () => this.#drop(open))
    client.on("end", () => this.#drop(open))
    const timer = setTimeout(() => socket.destroy(), this.#limits.connectMillis)
    try {
      await client.connect().catch(lost)
      await query(client, setUp(this.#limits))
      await this.#succeed(client)
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      clearTimeout(timer)
      this.#opening = undefined
    }
    this.#open = open
    return open
  }

  /** Ends the backend before this one, should it still be there, and remembers this one. */
  async #succeed(client: Pg.Client): Promise<void> {
    const { rows: ended } = await prepared(client, END, [...this.#backend, this.#limits.connectMillis])
    if (ended.some(([gone]) => gone !== true)) throw new ConnectionLost("the earlier connection has not ended yet")
    const { rows } = await query(client, OWN)
    const [[pid, startedAt] = NO_BACKEND] = rows
    this.#backend = [pid, startedAt]
  }

  /** Waits for everything that was sent. */
  async #abandon(open: Open, error: unknown): Promise<void> {
    const rolledBack = await query(open.client, "ROLLBACK").then(
      () => true,
      () => false
    )
    if (!rolledBack || isConnectionLost(error)) this.#drop(open)
  }

  #drop(open: Open): void {
    open.socket.destroy()
    if (this.#open === open) this.#open = undefined
  }
}

// Plans are kept, so one made while the tables were small must not scan them.
const setUp = ({ transactionMillis }: ConnectionLimits) => `
  SET statement_timeout = ${transactionMillis};
  SET idle_in_transaction_session_timeout = ${Math.min(transactionMillis, IDLE_IN_TRANSACTION_MILLIS)};
  SET lock_timeout = ${NOT_AT_ALL};
  SET default_transaction_isolation = 'read committed';
  SET default_transaction_read_only = off;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off`

const OWN = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"

const END: Statement = {
  name: "end_backend",
  text: `
    SELECT pg_terminate_backend(pid, $3)
    FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2::text::timestamptz`
}

type Answer = Pg.QueryArrayResult<Array<unknown>>

const query = (client: Pg.Client, text: string): Promise<Answer> =>
  client.query<Array<unknown>>({ text, rowMode: "array" }).catch(lost)

const prepared = (client: Pg.Client, { name, text }: Statement, values: ReadonlyArray<unknown>): Promise<Answer> =>
  client.query<Array<unknown>>({ name, text, values: [...values], rowMode: "array" }).catch(lost)

const commit = async (client: Pg.Client, write: Call | undefined): Promise<void> => {
  const written = write && prepared(client, write.statement, write.values)
  const [committed] = await Promise.all([query(client, "COMMIT"), written])
  if (committed.command !== "COMMIT") throw new ConnectionLost("the server answered a commit with a rollback")
}

/** A server that refuses a statement has not committed; one that shuts down may have. */
const mayHaveCommitted = (error: unknown): boolean =>
  !(error instanceof Pg.DatabaseError) || error.code?.startsWith("57") === true

/** The driver's own errors, unlike the server's, all say that the connection is gone. */
const lost = (error: unknown): never => {
  throw error instanceof Pg.DatabaseError ? error : new ConnectionLost(error instanceof Error ? error.message : "")
}

const ignore = () => {}
