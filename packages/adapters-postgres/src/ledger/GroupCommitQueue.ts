/**
 * Commits requests of the ledger in batches, and collects the next batch meanwhile. Each batch is one transaction. An
 * admission sets money and tokens aside for a request. A settlement books the charge and releases the rest.
 *
 * An idle queue starts a transaction at once. A busy queue puts all waiting requests, up to a limit, into its next
 * transaction. The queue refuses an admission when too many requests wait or when the deadline of the admission passes.
 * It never refuses a settlement; when too many settlements wait, it refuses admissions instead.
 *
 * A batch that fails with a transient error is retried until it succeeds. When the database rejects a row, the queue
 * bisects the batch until only the request with this row is left, and fails that request. A request with a row that
 * another session has locked waits separately, in `ContendedUsers`.
 */
import type { LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import { isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"
import {
  type AdmissionResult,
  type Batch,
  EMPTY,
  type HasAdmission,
  halves,
  type Outcome,
  partition,
  recordUnknownCommit,
  reply,
  type SettlementResult,
  size,
  type WaitingAdmission,
  type WaitingSettlement,
  type Work,
  type WorkKind,
  withoutRefused
} from "./Batch.ts"
import { ContendedUsers } from "./ContendedUsers.ts"
import type { LockWait } from "./DedicatedConnection.ts"
import type { QueueEvent } from "./QueueEvent.ts"

export interface QueueLimits {
  /** Maximum admissions, and maximum settlements, per transaction. With 1, a transaction contains one request. */
  readonly batchSize: number
  /** Maximum number of waiting admissions. Admissions of users with locked rows are counted separately. */
  readonly waitingAdmissions: number
  /** Number of unwritten settlements at which admissions are refused. */
  readonly unsettled: number
  /** Time after which a waiting admission is refused, also while the database is unavailable. */
  readonly admissionMillis: number
}

/** Runs one transaction. Passes the possible outcome to `onUnknownCommit` when the connection is lost at the commit. */
export type RunTransaction<A, S, R, E> = (
  work: Work<A, S, R>,
  onUnknownCommit: (outcome: Outcome<R, E>) => void,
  lockWait: LockWait
) => Promise<Outcome<R, E>>

const OVERLOADED = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
const STOPPED = Exit.die(new Error("the ledger stopped before the settlement was written"))
const CHECKS_PER_DEADLINE = 10

export class GroupCommitQueue<A, S extends HasAdmission, R, E> {
  readonly #kind: WorkKind<A, S>
  readonly #limits: QueueLimits
  readonly #runTransaction: RunTransaction<A, S, R, E>
  readonly #report: (event: QueueEvent) => void
  readonly #contended: ContendedUsers<A, S, R, E>
  #admissions: Array<WaitingAdmission<A, E>> = []
  #settlements: Array<WaitingSettlement<S, R>> = []
  #batch: Batch<A, S, R, E> = EMPTY
  /** Functions that pass the results of committed batches to the callbacks. A function is removed when it runs. */
  readonly #deliveries: Array<() => void> = []
  #working = false
  #onIdle: () => void = () => {}
  #watching = false
  #open = true
  #stopped = false
  #unavailableSince: number | undefined
  #transactions = 0
  #transactionMillis = 0

  constructor(
    kind: WorkKind<A, S>,
    limits: QueueLimits,
    runTransaction: RunTransaction<A, S, R, E>,
    report: (event: QueueEvent) => void
  ) {
    this.#kind = kind
    this.#limits = limits
    this.#runTransaction = runTransaction
    this.#report = report
    this.#contended = new ContendedUsers(kind)
  }

  get unsettled(): number {
    return this.#settlements.length + this.#batch.settlements.length + this.#contended.settlements.length
  }

  get load(): LedgerLoad {
    return {
      waitingAdmissions: this.#waitingAdmissions,
      unsettled: this.unsettled,
      transactions: this.#transactions,
      transactionMillis: this.#transactionMillis
    }
  }

  admit(admission: A, callback: (result: AdmissionResult<E>) => void): void {
    const { waitingAdmissions, unsettled } = this.#limits
    const isContended = this.#contended.has(this.#kind.admissionOf(admission).principal.userId)
    const waiting = isContended ? this.#contended.admissions : this.#admissions
    if (!this.#open || waiting.length >= waitingAdmissions || this.unsettled >= unsettled) {
      callback(OVERLOADED)
      return
    }
    const entry = { admission, maybeCommitted: false, since: performance.now(), callback }
    if (isContended) this.#contended.add({ settlements: [], admissions: [entry] })
    else this.#admissions.push(entry)
    this.#watch()
    this.#wake()
  }

  settle(request: S, callback?: (result: SettlementResult<R>) => void): void {
    if (this.#stopped) {
      callback?.(STOPPED)
      return
    }
    const entry = { request, maybeCommitted: undefined, callback }
    if (this.#contended.has(request.admission.principal.userId))
      this.#contended.add({ settlements: [entry], admissions: [] })
    else this.#settlements.push(entry)
    this.#wake()
  }

  /** Refuses admissions, and waits up to `flushMillis` for settlements. Returns the number of unwritten settlements. */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    for (const waiting of [...this.#admissions.splice(0), ...this.#contended.admissions]) reply(waiting, OVERLOADED)
    if (this.#working || this.#contended.waiting) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, flushMillis)
        this.#onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#stopped = true
    const left = new Set([...this.#batch.settlements, ...this.#settlements.splice(0), ...this.#contended.settlements])
    for (const { callback } of left) callback?.(STOPPED)
    return left.size
  }

  get #waitingAdmissions(): number {
    return this.#admissions.length + this.#batch.admissions.length + this.#contended.admissions.length
  }

  #wake(): void {
    if (this.#working) return
    this.#working = true
    // Requests that arrive in the same turn of the event loop share one transaction.
    setImmediate(() => void this.#work())
  }

  async #work(): Promise<void> {
    do {
      while (!this.#stopped && (this.#admissions.length + this.#settlements.length > 0 || this.#contended.due)) {
        const lockWait = this.#contended.due ? "none" : "bounded"
        this.#batch = this.#next(lockWait)
        const finished = this.#finish(this.#batch, lockWait)
        // The callbacks of the previous batch run while the database works on this batch.
        this.#deliver()
        await finished
        this.#batch = EMPTY
      }
    } while (this.#deliver())
    this.#working = false
    if (!this.#contended.waiting) this.#onIdle()
    else if (!this.#stopped) this.#contended.whenDue(() => this.#wake())
  }

  #next(lockWait: LockWait): Batch<A, S, R, E> {
    const { batchSize } = this.#limits
    if (lockWait === "none") return this.#contended.take(batchSize)
    const settlements = this.#settlements.splice(0, batchSize)
    const isFull = batchSize === 1 && settlements.length === 1
    return { settlements, admissions: isFull ? [] : this.#admissions.splice(0, batchSize) }
  }

  /** Calls the callbacks of committed batches. Returns whether there were any, because they may queue more work. */
  #deliver(): boolean {
    const deliveries = this.#deliveries.splice(0)
    for (const deliver of deliveries) deliver()
    return deliveries.length > 0
  }

  async #finish(batch: Batch<A, S, R, E>, lockWait: LockWait): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      const work = attempt === 0 && lockWait === "bounded" ? batch : withoutRefused(this.#kind, batch)
      if (size(work) === 0) return
      try {
        const begunAt = performance.now()
        const onUnknownCommit = (outcome: Outcome<R, E>) =>
          recordUnknownCommit(partition(this.#kind, work, outcome.contended).others, outcome)
        const outcome = await this.#runTransaction(work, onUnknownCommit, lockWait)
        this.#transactions += 1
        this.#transactionMillis += performance.now() - begunAt
        this.#reportRecovery()
        const { others, theirs } = partition(this.#kind, work, outcome.contended)
        if (lockWait === "none") this.#queue(this.#contended.release(others))
        if (size(theirs) > 0) this.#separate(theirs, outcome.contended)
        this.#deliveries.push(() => this.#complete(others, outcome))
        return
      } catch (error) {
        if (isTransient(error)) {
          if (attempt > 0) this.#reportOutage(error)
          await afterBackoff(attempt)
        } else if (size(work) === 1) {
          this.#reject(work, error)
          return
        } else {
          for (const half of halves(work)) await this.#finish(half, lockWait)
          return
        }
      }
    }
  }

  /** Moves the requests of these users, both skipped and queued, to the contended users. */
  #separate(failed: Batch<A, S, R, E>, users: ReadonlySet<UserId>): void {
    if (!this.#open) for (const waiting of failed.admissions) reply(waiting, OVERLOADED)
    if (this.#contended.none) this.#report({ _tag: "RowsLocked", userIds: [...users] })
    const queued = { settlements: this.#settlements, admissions: this.#admissions }
    const { others, theirs } = partition(this.#kind, queued, users)
    this.#contended.putBack(failed)
    this.#contended.add(theirs)
    this.#settlements = []
    this.#admissions = []
    this.#queue(others)
  }

  #queue({ settlements, admissions }: Batch<A, S, R, E>): void {
    this.#settlements.push(...settlements)
    this.#admissions.push(...admissions)
  }

  #complete({ settlements, admissions }: Batch<A, S, R, E>, { settled, admitted }: Outcome<R, E>): void {
    for (const [i, { callback }] of settlements.entries()) callback?.(Exit.succeed(settled[i]))
    for (const [i, waiting] of admissions.entries()) {
      const outcome = admitted[i]
      if (outcome === undefined) continue
      if (outcome._tag === "Left") reply(waiting, Exit.fail(outcome.left))
      else if (outcome.right === "gone") reply(waiting, OVERLOADED)
      // The queue refused this admission before the commit, so the caller never settles the hold.
      else if (!reply(waiting, Exit.void)) this.settle(this.#kind.release(waiting.admission))
    }
  }

  #reject({ settlements, admissions }: Batch<A, S, R, E>, error: unknown): void {
    for (const { request, callback } of settlements) {
      this.#report({ _tag: "SettlementRejected", admission: request.admission, error })
      callback?.(Exit.die(error))
    }
    for (const waiting of admissions) {
      this.#report({ _tag: "AdmissionRejected", admission: this.#kind.admissionOf(waiting.admission), error })
      reply(waiting, Exit.die(error))
    }
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    const tick = this.#limits.admissionMillis / CHECKS_PER_DEADLINE
    setTimeout(() => {
      this.#watching = false
      // Refuse every admission whose deadline passes before the next check.
      const late = performance.now() - this.#limits.admissionMillis + tick
      const isLate = ({ since }: WaitingAdmission<A, E>) => since <= late
      const all = [...this.#batch.admissions, ...this.#admissions, ...this.#contended.admissions]
      for (const waiting of all.filter(isLate)) reply(waiting, OVERLOADED)
      this.#admissions = this.#admissions.filter((waiting) => !isLate(waiting))
      if (this.#waitingAdmissions > 0) this.#watch()
    }, tick).unref()
  }

  #reportOutage(error: unknown): void {
    if (this.#unavailableSince !== undefined) return
    this.#unavailableSince = performance.now()
    this.#report({ _tag: "DatabaseUnavailable", error })
  }

  #reportRecovery(): void {
    if (this.#unavailableSince === undefined) return
    const afterMillis = Math.round(performance.now() - this.#unavailableSince)
    this.#unavailableSince = undefined
    this.#report({ _tag: "DatabaseRecovered", afterMillis })
  }
}
