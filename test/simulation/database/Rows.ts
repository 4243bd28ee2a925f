/**
 * The tables of the modelled database: rows with locks, and transactions in isolation level READ COMMITTED.
 *
 * A transaction locks a row before it writes it. Other transactions read the committed version meanwhile.
 */

export interface AccountRow {
  readonly id: string
  readonly userId: string
  /** Null for a pay-as-you-go account. */
  readonly modelId: string | null
  readonly credits: bigint
  readonly debits: bigint
  readonly pending: bigint
}

export interface RequestRow {
  readonly requestId: string
  readonly userId: string
  readonly keyId: string
  readonly modelId: string
  readonly priceId: string
  readonly protocol: string
  readonly streamed: boolean
  readonly planAccount: string | null
  readonly planTokens: bigint
  readonly paygAccount: string | null
  readonly paygPico: bigint
  readonly nodeId: string
  readonly checkpointInput: bigint
  readonly checkpointOutput: bigint
  /** The part of the hold that counts for the limits of the key. All three are null if the key was not limited. */
  readonly keyPico: bigint | null
  readonly keyTokens: bigint | null
  readonly keyWindow: bigint | null
}

/** Each token count has the four token classes in the order of the columns. */
export interface SettlementRow {
  readonly requestId: string
  readonly userId: string
  readonly keyId: string
  readonly ending: string
  readonly source: string
  readonly charged: ReadonlyArray<bigint>
  readonly consumed: ReadonlyArray<bigint>
  readonly costPico: bigint
  readonly planAccount: string | null
  readonly planTokens: bigint
  readonly planValuePico: bigint
  readonly paygAccount: string | null
  readonly paygPico: bigint
  readonly writeoffPico: bigint
  readonly streamed: boolean
  /** The name of the connection that has written the row. The database has no such column. */
  readonly writtenBy: string
}

/** An error that the database reports, with its SQLSTATE. */
export class Refused {
  readonly state: string
  readonly message: string
  constructor(state: string, message = "") {
    this.state = state
    this.message = message
  }
}

export class Cell<Row = unknown> {
  committed: Row | undefined
  /** The version of the transaction that holds the lock. */
  written: Row | undefined
  owner: Transaction | undefined
  /** The transactions that wait for the lock, in order, with the functions that continue them. */
  readonly waiting: Array<{ readonly transaction: Transaction; readonly granted: () => void }> = []

  constructor(committed: Row | undefined) {
    this.committed = committed
  }

  seenBy(transaction: Transaction): Row | undefined {
    return this.owner === transaction ? this.written : this.committed
  }

  isLockedFor(transaction: Transaction): boolean {
    return this.owner !== undefined && this.owner !== transaction
  }
}

export class Table<Row> {
  readonly cells = new Map<string, Cell<Row>>()

  insertCommitted(id: string, row: Row): void {
    this.cells.set(id, new Cell(row))
  }

  committed(id: string): Row | undefined {
    return this.cells.get(id)?.committed
  }

  /** Returns the cell of an id; creates a cell without a row if there is none. */
  cell(id: string): Cell<Row> {
    let cell = this.cells.get(id)
    if (cell === undefined) {
      cell = new Cell<Row>(undefined)
      this.cells.set(id, cell)
    }
    return cell
  }

  *rows(): Generator<Row> {
    for (const { committed } of this.cells.values()) if (committed !== undefined) yield committed
  }
}

export class Transaction {
  /** The name of the connection. */
  readonly by: string
  readonly #onCommit: () => void
  readonly #locked = new Set<Cell<unknown>>()
  /** Actions that take effect at the commit, such as the booking of a credit in the journal. */
  readonly atCommit: Array<() => void> = []

  constructor(by: string, onCommit: () => void) {
    this.by = by
    this.#onCommit = onCommit
  }

  /** Locks the row for this transaction. The row must not be locked by another transaction. */
  own<Row>(cell: Cell<Row>): void {
    if (cell.owner === this) return
    cell.owner = this
    cell.written = cell.committed
    this.#locked.add(cell as Cell<unknown>)
  }

  commit(): void {
    for (const cell of this.#locked) cell.committed = cell.written
    for (const action of this.atCommit) action()
    this.#release()
    this.#onCommit()
  }

  rollBack(): void {
    this.#release()
  }

  #release(): void {
    for (const cell of this.#locked) {
      cell.owner = undefined
      cell.written = undefined
      const next = cell.waiting.shift()
      if (next !== undefined) {
        next.transaction.own(cell)
        next.granted()
      }
    }
    this.#locked.clear()
  }
}

/** A statement that runs: it yields the row that it waits for, or the milliseconds that it pauses. */
export type Execution<A> = Generator<Cell<unknown> | number, A, void>

/** Locks a row; waits while another transaction holds the lock. */
export function* lock<Row>(transaction: Transaction, cell: Cell<Row>): Execution<void> {
  if (cell.isLockedFor(transaction)) yield cell as Cell<unknown>
  transaction.own(cell)
}
