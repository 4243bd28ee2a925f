/**
 * One backend of the modelled database. It runs the statements of its client in order.
 *
 * As in Postgres, an error rolls the transaction back immediately, and later statements fail until the client rolls
 * back. A backend also runs the statements that arrived before its client disconnected.
 */
import type { Event } from "../SimulatedTime.ts"
import type { Database } from "./Database.ts"
import { type Cell, type Execution, Refused, type Transaction } from "./Rows.ts"
import { executionOf } from "./Statements.ts"

export interface Message {
  readonly name: string | undefined
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

export interface Reply {
  readonly rows: ReadonlyArray<ReadonlyArray<unknown>>
  readonly command: string
}

/** How the backend ended, from the perspective of the client: with an error message, or without. */
export type SessionEnd = Refused | undefined

const TRANSIENT = ["40001", "40P01", "53100", "53200", "25006", "57014"]
/** The statement timeout, and the timeout of an idle transaction, until the client sets them. */
const LONGEST_STATEMENT_MILLIS = 10_000
const READ_ONLY_END: Reply = { rows: [], command: "ROLLBACK" }

export class Session {
  readonly pid: number
  readonly startedAt: string
  readonly by: string
  readonly #database: Database
  readonly #reply: (replies: ReadonlyArray<Reply | Refused>, busyMillis: number) => void
  readonly #onEnd: (end: SessionEnd) => void
  readonly #loseConnection: () => void
  readonly #inbox: Array<Message | "disconnect"> = []
  #replies: Array<Reply | Refused> = []
  #transaction: Transaction | undefined
  #failed = false
  #isExplicit = false
  #lockMillis = 0
  #localLockMillis: number | undefined
  #idleMillis = LONGEST_STATEMENT_MILLIS
  #statementMillis = LONGEST_STATEMENT_MILLIS
  #idleCheck: Event | undefined
  /** Cancels the current wait or pause of the backend; undefined while there is none. */
  #stopWaiting: (() => void) | undefined
  #busyMillis = 0
  ended = false

  constructor(
    database: Database,
    by: string,
    reply: (replies: ReadonlyArray<Reply | Refused>, busyMillis: number) => void,
    onEnd: (end: SessionEnd) => void,
    loseConnection: () => void
  ) {
    this.#database = database
    this.by = by
    this.#reply = reply
    this.#onEnd = onEnd
    this.#loseConnection = loseConnection
    this.pid = database.nextId()
    this.startedAt = `start ${this.pid}`
    database.sessions.set(this.pid, this)
  }

  receive(messages: ReadonlyArray<Message | "disconnect">): void {
    if (this.ended) return
    this.#inbox.push(...messages)
    if (this.#stopWaiting === undefined) this.#work()
  }

  /** Ends the backend and rolls its transaction back. */
  end(end: SessionEnd): void {
    if (this.ended) return
    this.ended = true
    this.#database.sessions.delete(this.pid)
    this.#stopWaiting?.()
    this.#transaction?.rollBack()
    this.#transaction = undefined
    if (this.#idleCheck !== undefined) this.#database.time.cancel(this.#idleCheck)
    this.#flush()
    this.#onEnd(end)
  }

  #work(): void {
    const { faults, time } = this.#database
    const { random } = time
    while (this.#inbox.length > 0 && this.#stopWaiting === undefined && !this.ended) {
      const message = this.#inbox.shift() as Message | "disconnect"
      if (message === "disconnect") {
        this.end(undefined)
        return
      }
      this.#busyMillis += random.next() * 0.3
      if (faults.slow > 0 && random.chance(faults.slow)) this.#pause(random.skewed(1, 6_000), () => this.#run(message))
      else this.#run(message)
    }
    if (this.#stopWaiting !== undefined || this.ended) return
    this.#flush()
    if (this.#transaction !== undefined && this.#idleCheck === undefined) {
      this.#idleCheck = time.after(this.#idleMillis, undefined, () => {
        this.#idleCheck = undefined
        if (this.#stopWaiting === undefined) this.end(new Refused("25P03", "idle in transaction"))
      })
    }
  }

  #flush(): void {
    if (this.#replies.length === 0) return
    const replies = this.#replies
    this.#replies = []
    this.#reply(replies, this.#busyMillis)
    this.#busyMillis = 0
  }

  /** Continues after a pause, unless the statement timeout comes first. */
  #pause(millis: number, then: () => void): void {
    const { time } = this.#database
    const tooLong = millis > this.#statementMillis
    const event = time.after(Math.min(millis, this.#statementMillis), undefined, () => {
      this.#stopWaiting = undefined
      if (tooLong) this.#refuse(new Refused("57014", "statement timeout"))
      else then()
      this.#work()
    })
    this.#stopWaiting = () => time.cancel(event)
  }

  #run(message: Message): void {
    if (message.name === undefined) this.#control(message.text)
    else if (this.#failed) this.#replies.push(new Refused("25P02", "the transaction is aborted"))
    else {
      const { faults, time } = this.#database
      this.#transaction ??= this.#database.begin(this.by)
      if (faults.refused > 0 && time.random.chance(faults.refused))
        this.#refuse(new Refused(time.random.pick(TRANSIENT)))
      else this.#advance(executionOf(this.#database, this.#transaction, message))
    }
  }

  #advance(execution: Execution<Reply["rows"]>): void {
    const { faults, time } = this.#database
    try {
      const step = execution.next()
      if (step.done) this.#succeed({ rows: step.value, command: "SELECT" })
      else if (typeof step.value === "number") this.#pause(step.value, () => this.#advance(execution))
      else this.#wait(step.value, execution)
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused
      this.#refuse(refused)
    }
    if (faults.paused > 0 && this.#isExplicit && this.#stopWaiting === undefined && time.random.chance(faults.paused)) {
      this.#pause(time.random.skewed(0.1, 30), () => {})
    }
  }

  #wait(cell: Cell<unknown>, execution: Execution<Reply["rows"]>): void {
    const { time } = this.#database
    const transaction = this.#transaction as Transaction
    let granted: Event | undefined
    const waiting = {
      transaction,
      granted: () => {
        granted = time.after(0.02, undefined, proceed)
      }
    }
    const proceed = () => {
      time.cancel(timeout)
      this.#stopWaiting = undefined
      this.#advance(execution)
      this.#work()
    }
    const removeFromQueue = () => {
      const at = cell.waiting.indexOf(waiting)
      if (at >= 0) cell.waiting.splice(at, 1)
      if (granted !== undefined) time.cancel(granted)
    }
    const timeout = time.after(this.#localLockMillis ?? this.#lockMillis, undefined, () => {
      removeFromQueue()
      this.#stopWaiting = undefined
      this.#refuse(new Refused("55P03", "lock timeout"))
      this.#work()
    })
    cell.waiting.push(waiting)
    this.#stopWaiting = () => {
      removeFromQueue()
      time.cancel(timeout)
    }
  }

  #succeed(reply: Reply): void {
    this.#replies.push(reply)
    if (!this.#isExplicit) {
      this.#commit(this.#transaction)
      this.#transaction = undefined
    }
  }

  #commit(transaction: Transaction | undefined): void {
    const { faults, time } = this.#database
    transaction?.commit()
    if (faults.lostAtCommit > 0 && time.random.chance(faults.lostAtCommit)) this.#loseConnection()
  }

  /** Reports an error. The locks of the transaction are released immediately. */
  #refuse(refused: Refused): void {
    this.#transaction?.rollBack()
    this.#transaction = undefined
    this.#failed = this.#isExplicit
    this.#replies.push(refused)
  }

  /** Runs a statement without a name. */
  #control(text: string): void {
    if (/^\s*SET /.test(text)) {
      this.#lockMillis = millisOf(text, "lock_timeout")
      this.#statementMillis = millisOf(text, "statement_timeout")
      this.#idleMillis = millisOf(text, "idle_in_transaction_session_timeout")
      this.#replies.push({ rows: [], command: "SET" })
    } else if (text.includes("pg_logical_emit_message")) {
      // The model has one database server, so there is no standby to wait for.
      this.#replies.push({ rows: [], command: "COMMIT" })
    } else if (text.startsWith("BEGIN")) {
      this.#isExplicit = true
      this.#failed = false
      this.#localLockMillis = millisOf(text, "lock_timeout")
      this.#transaction = this.#database.begin(this.by)
      this.#replies.push({ rows: [], command: "SET" })
    } else if (text === "COMMIT") this.#end(true)
    else if (text === "ROLLBACK") this.#end(false)
    else if (text.startsWith("SELECT pid, backend_start")) {
      this.#replies.push({ rows: [[this.pid, this.startedAt]], command: "SELECT" })
    } else throw new Error(`the model of the database does not know this statement: ${text}`)
  }

  #end(commits: boolean): void {
    const transaction = this.#transaction
    if (this.#idleCheck !== undefined) this.#database.time.cancel(this.#idleCheck)
    this.#idleCheck = undefined
    const committed = commits && !this.#failed
    this.#transaction = undefined
    this.#isExplicit = false
    this.#failed = false
    this.#localLockMillis = undefined
    if (committed) this.#commit(transaction)
    else transaction?.rollBack()
    this.#replies.push(committed ? { rows: [], command: "COMMIT" } : READ_ONLY_END)
  }
}

const durations = new Map<string, number>()

const millisOf = (text: string, parameter: string): number => {
  const key = `${parameter} ${text}`
  const known = durations.get(key)
  if (known !== undefined) return known
  const [, millis] = new RegExp(`${parameter} = (\\d+)`).exec(text) ?? []
  if (millis === undefined) throw new Error(`the statement does not set ${parameter}: ${text}`)
  durations.set(key, Number(millis))
  return Number(millis)
}
