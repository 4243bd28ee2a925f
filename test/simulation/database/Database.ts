/**
 * The modelled database: its tables, its clock, and the sessions that run transactions in it.
 */
import type { SimulatedTime } from "../SimulatedTime.ts"
import type { CountedKeyRow } from "./CountedKeys.ts"
import { type AccountRow, type Execution, type RequestRow, type SettlementRow, Table, Transaction } from "./Rows.ts"
import type { Session } from "./Session.ts"

export interface NodeRow {
  /** The time of the last heartbeat by the clock of the database. */
  readonly beatAt: number
  /** The true time of the last heartbeat. The database has no such column. */
  readonly storedAtMillis: number
  left: boolean
}

export const textOf = (node: NodeRow | undefined): string | null => (node === undefined ? null : String(node.beatAt))

export interface KeyRow {
  readonly userId: string
  valid: boolean
  /** Whether the key is a limited key. */
  counted?: boolean
  /** The number of times that the key became a limited key. The database has no such column. */
  begun?: number
}

export interface PriceRow {
  readonly rates: readonly [input: bigint, cacheWrite: bigint, cacheRead: bigint, output: bigint]
}

/** Faults of the database, as probabilities. */
export interface DatabaseFaults {
  /** The database reports a transient error. */
  refused: number
  /** The statement takes up to some seconds. */
  slow: number
  /** The statement pauses while it holds locks. */
  paused: number
  /** The connection is lost after the commit, so that the client may not get the response. */
  lostAtCommit: number
}

export const NO_FAULTS: DatabaseFaults = { refused: 0, slow: 0, paused: 0, lostAtCommit: 0 }

export class Database {
  readonly time: SimulatedTime
  readonly accounts = new Table<AccountRow>()
  readonly requests = new Table<RequestRow>()
  readonly settlements = new Table<SettlementRow>()
  readonly nodes = new Map<string, NodeRow>()
  readonly keys = new Map<string, KeyRow>()
  readonly countedKeys = new Table<CountedKeyRow>()
  readonly prices = new Map<string, PriceRow>()
  /** The sum of the credits of each account. */
  readonly credited = new Map<string, bigint>()
  readonly sessions = new Map<number, Session>()
  readonly faults: DatabaseFaults = { ...NO_FAULTS }
  /**
   * Requests whose next insert or extension of a hold the database rejects, as it would reject a row that violates a
   * constraint.
   */
  readonly rejected = new Set<string>()
  isDown = false
  clockOffsetMillis = 0
  /**
   * The difference between the time of day and the clock that heartbeats use. They are one clock in Postgres. Here, a
   * jump of the time of day does not delay the sweeps of dead nodes.
   */
  timeOfDayMillis = 0
  onCommit: () => void = () => {}
  /** Called with the holds that a sweep has locked. */
  onSweep: (requestIds: ReadonlyArray<string>, judgedBy: "database clock" | "heartbeats") => void = () => {}
  #ids = 0

  constructor(time: SimulatedTime) {
    this.time = time
  }

  get clockMillis(): number {
    return this.time.now + this.clockOffsetMillis
  }

  /** The time that the statements for limited keys read. */
  get nowMillis(): number {
    return Math.floor(this.timeOfDayMillis + this.clockMillis)
  }

  nextId(): number {
    return ++this.#ids
  }

  begin(by: string): Transaction {
    return new Transaction(by, () => this.onCommit())
  }

  /** Runs a transaction of a session outside the nodes. It waits for locks without a limit. */
  runElsewhere(by: string, work: (transaction: Transaction) => Execution<boolean>): void {
    const transaction = this.begin(by)
    const steps = work(transaction)
    const advance = (): void => {
      const step = steps.next()
      if (step.done) {
        if (step.value) transaction.commit()
        else transaction.rollBack()
      } else if (typeof step.value === "number") this.time.after(step.value, undefined, advance)
      else step.value.waiting.push({ transaction, granted: () => void this.time.after(0.02, undefined, advance) })
    }
    advance()
  }

  crash(): void {
    for (const session of [...this.sessions.values()]) session.end(undefined)
  }
}
