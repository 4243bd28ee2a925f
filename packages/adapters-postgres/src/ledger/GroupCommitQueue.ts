/**
 * Commits the requests to the ledger (admissions, extensions, settlements) in batches, and collects the next batch
 * meanwhile. Each batch is one transaction. An admission sets money and tokens aside for an inference request, in a
 * hold. An extension grows the hold. A settlement books the charge and releases the rest.
 *
 * An idle queue starts a transaction immediately. A busy queue puts all waiting requests, up to a limit, into its next
 * transaction. A settlement of `settleLater` waits a few milliseconds, so that it can share the transaction of another
 * request. The queue refuses an admission when too many admissions wait, and an extension when too many extensions
 * wait. It refuses both when their deadline passes. It accepts every settlement until it stops. When too many
 * settlements are unwritten, it refuses admissions.
 *
 * The queue retries a batch that fails with a transient error, until the batch succeeds or the queue stops. When the
 * database rejects a row, the queue bisects the batch until only the request with this row is left, and fails that
 * request. The requests of a user with a row that another session has locked wait separately, in `ContendedUsers`.
 */
import type { LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import { isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"
import { Availability } from "./Availability.ts"
import {
  type AdmissionResult,
  type Batch,
  complete,
  EMPTY,
  type ExtensionResult,
  endSettlement,
  halves,
  type Outcome,
  OVERLOADED,
  partition,
  recordUnknownCommit,
  refuseLate,
  reject,
  type SettlementResult,
  STOPPED,
  size,
  type WorkKind,
  type WorkTypes,
  withoutRefused
} from "./Batch.ts"
import { ContendedUsers } from "./ContendedUsers.ts"
import type { LockWait } from "./DedicatedConnection.ts"
import { guarded, type QueueEvent } from "./QueueEvent.ts"
import type { QueueLimits, RunTransaction } from "./QueueLimits.ts"
import { SettlementReaders } from "./SettlementReaders.ts"
import { WaitingRequests } from "./WaitingRequests.ts"

const CHECKS_PER_DEADLINE = 10
/** The maximum time for which a settlement of `settleLater` starts no transaction. */
const LATER_MILLIS = 4

export class GroupCommitQueue<T extends WorkTypes> {
  readonly #kind: WorkKind<T>
  readonly #limits: QueueLimits
  readonly #runTransaction: RunTransaction<T>
  readonly #report: (event: QueueEvent) => void
  readonly #contended: ContendedUsers<T>
  readonly #availability: Availability
  readonly #waiting = new WaitingRequests<T>()
  readonly #readers = new SettlementReaders()
  #batch: Batch<T> = EMPTY
  #working = false
  /** True if a waiting request needs a transaction now; false if only settlements of `settleLater` wait. */
  #urgent = false
  #timer: NodeJS.Timeout | undefined
  #onIdle: () => void = () => {}
  #watching = false
  #open = true
  #stopped = false
  #transactions = 0
  #transactionMillis = 0

  constructor(
    kind: WorkKind<T>,
    limits: QueueLimits,
    runTransaction: RunTransaction<T>,
    report: (event: QueueEvent) => void
  ) {
    this.#kind = kind
    this.#limits = limits
    this.#runTransaction = runTransaction
    this.#report = report
    this.#contended = new ContendedUsers(kind)
    this.#availability = new Availability(report)
  }

  get unsettled(): number {
    return this.#count("settlements")
  }

  get load(): LedgerLoad {
    return {
      waitingAdmissions: this.#count("admissions"),
      unsettled: this.unsettled,
      transactions: this.#transactions,
      transactionMillis: this.#transactionMillis
    }
  }

  admit(admission: T["admission"], callback: (result: AdmissionResult<T>) => void): void {
    const { waitingAdmissions, unsettled } = this.#limits
    const waiting = this.#waitingOf(this.#kind.admissionOf(admission).principal.userId)
    if (!this.#open || waiting.admissions.length >= waitingAdmissions || this.unsettled >= unsettled) {
      callback(OVERLOADED)
      return
    }
    const reporting = guarded(callback, this.#kind.admissionOf(admission), this.#report)
    const entry = { admission, maybeCommitted: false, since: performance.now(), callback: reporting }
    if (waiting === this.#contended) waiting.add({ ...EMPTY, admissions: [entry] })
    else this.#waiting.admissions.push(entry)
    this.#watch()
    this.#wake()
  }

  extend(request: T["extension"], callback: (result: ExtensionResult) => void): void {
    const waiting = this.#waitingOf(request.admission.principal.userId)
    if (!this.#open || waiting.extensions.length >= this.#limits.waitingAdmissions) {
      callback(OVERLOADED)
      return
    }
    const reporting = guarded(callback, request.admission, this.#report)
    waiting.add({ ...EMPTY, extensions: [{ request, since: performance.now(), callback: reporting }] })
    this.#watch()
    this.#wake()
  }

  settle(request: T["settlement"], callback?: (result: SettlementResult<T>) => void): void {
    if (this.#add(request, callback)) this.#wake()
  }

  /** Queues a settlement that waits up to {@link LATER_MILLIS} to share the transaction of a later request. */
  settleLater(request: T["settlement"], callback?: (result: SettlementResult<T>) => void): void {
    if (!this.#add(request, callback)) return
    if (!this.#open) this.#wake()
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#wakeForWaiting()
    }, LATER_MILLIS)
  }

  /**
   * Writes the waiting settlements immediately. Calls back when their transactions have ended, except those of
   * contended users. Returns a function that prevents the call, or undefined if there is nothing to wait for.
   */
  flush(callback: () => void): (() => void) | undefined {
    const { length } = this.#waiting.settlements
    if (length > 0) this.#wake()
    return this.#stopped ? undefined : this.#readers.add(callback, length)
  }

  /** Returns whether an admission of this user would be decided soon, according to the state of the queue. */
  isResponsive(userId: UserId): boolean {
    const { waitingAdmissions, unsettled } = this.#limits
    const hasRoom = this.#waiting.admissions.length < waitingAdmissions && this.unsettled < unsettled
    return this.#open && hasRoom && this.#availability.isResponding && !this.#contended.has(userId)
  }

  /**
   * Refuses admissions and extensions, and waits up to `flushMillis` until all settlements are written. Returns the
   * number of unwritten settlements. A settlement counts as unwritten while its transaction runs.
   */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    refuseLate(this.#contended, Number.POSITIVE_INFINITY)
    this.#waiting.removeLate(Number.POSITIVE_INFINITY)
    this.#wakeForWaiting()
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
    const queued = [this.#batch, this.#waiting.clear(), this.#contended].flatMap(({ settlements }) => settlements)
    const left = new Set(queued.filter(({ isEnded }) => !isEnded))
    for (const waiting of left) endSettlement(waiting, STOPPED)
    return left.size
  }

  #count(type: keyof Batch<T>): number {
    return this.#waiting[type].length + this.#batch[type].length + this.#contended[type].length
  }

  /** Returns the requests that a new request of this user joins. */
  #waitingOf(userId: UserId): WaitingRequests<T> | ContendedUsers<T> {
    return this.#contended.has(userId) ? this.#contended : this.#waiting
  }

  /** Returns false if the queue has stopped. */
  #add(request: T["settlement"], callback: ((result: SettlementResult<T>) => void) | undefined): boolean {
    if (this.#stopped) {
      callback?.(STOPPED)
      return false
    }
    const reporting = callback && guarded(callback, request.admission, this.#report)
    const entry = { request, maybeCommitted: undefined, callback: reporting, isEnded: false }
    const waiting = this.#waitingOf(request.admission.principal.userId)
    if (waiting === this.#contended) waiting.add({ ...EMPTY, settlements: [entry] })
    else this.#waiting.settlements.push(entry)
    return true
  }

  #wakeForWaiting(): void {
    if (size(this.#waiting) > 0 || this.#contended.waiting) this.#wake()
  }

  #wake(): void {
    this.#urgent = true
    if (this.#working) return
    this.#working = true
    // Requests that arrive in the same turn of the event loop share one transaction.
    setImmediate(() => void this.#work())
  }

  async #work(): Promise<void> {
    while (!this.#stopped && ((this.#urgent && size(this.#waiting) > 0) || this.#contended.due)) {
      const lockWait = this.#contended.due ? "none" : "bounded"
      this.#batch = (lockWait === "none" ? this.#contended : this.#waiting).take(this.#limits.batchSize)
      this.#urgent &&= size(this.#waiting) > 0
      const { length } = this.#waiting.settlements
      if (lockWait === "bounded" && this.#batch.settlements.length > 0) this.#readers.batchBegins(length)
      this.#availability.batchBegins()
      await this.#finish(this.#batch, lockWait)
      this.#batch = EMPTY
      this.#readers.batchEnds(this.#waiting.settlements.length)
      this.#availability.batchEnds()
    }
    this.#working = false
    if (!this.#contended.waiting) this.#onIdle()
    else if (!this.#stopped) this.#contended.whenDue(() => this.#wake())
  }

  async #finish(batch: Batch<T>, lockWait: LockWait): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      const work = withoutRefused(this.#kind, batch)
      if (size(work) === 0) return
      const begunAt = performance.now()
      const onUnknownCommit = (outcome: Outcome<T>) =>
        recordUnknownCommit(partition(this.#kind, work, outcome.contended).others, outcome)
      let outcome: Outcome<T>
      try {
        outcome = await this.#runTransaction(work, onUnknownCommit, lockWait)
      } catch (error) {
        if (isTransient(error)) {
          this.#availability.failed(error, attempt)
          await afterBackoff(attempt)
          continue
        }
        if (size(work) === 1) reject(this.#kind, work, error, this.#report)
        else for (const half of halves(work)) await this.#finish(half, lockWait)
        return
      }
      this.#transactions += 1
      this.#transactionMillis += performance.now() - begunAt
      this.#committed(work, outcome, lockWait)
      return
    }
  }

  #committed(work: Batch<T>, outcome: Outcome<T>, lockWait: LockWait): void {
    this.#availability.succeeded()
    const { others, theirs } = partition(this.#kind, work, outcome.contended)
    if (lockWait === "none") {
      this.#waiting.add(this.#contended.release(others))
      this.#urgent = true
    }
    if (size(theirs) > 0) this.#separate(theirs, outcome.contended)
    complete(others, outcome, (admission) => this.settle(this.#kind.release(admission)))
  }

  /** Moves the skipped requests and the waiting requests of these users to `#contended`. */
  #separate(failed: Batch<T>, users: ReadonlySet<UserId>): void {
    if (!this.#open) refuseLate(failed, Number.POSITIVE_INFINITY)
    if (this.#contended.none) this.#report({ _tag: "RowsLocked", userIds: [...users] })
    const { others, theirs } = partition(this.#kind, this.#waiting.clear(), users)
    this.#contended.putBack(failed)
    this.#contended.add(theirs)
    this.#waiting.add(others)
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    const tick = this.#limits.admissionMillis / CHECKS_PER_DEADLINE
    setTimeout(() => {
      this.#watching = false
      // Refuse every request whose deadline passes before the next check.
      const late = performance.now() - this.#limits.admissionMillis + tick
      refuseLate(this.#batch, late)
      refuseLate(this.#contended, late)
      this.#waiting.removeLate(late)
      if (this.#count("extensions") + this.#count("admissions") > 0) this.#watch()
    }, tick).unref()
  }
}
