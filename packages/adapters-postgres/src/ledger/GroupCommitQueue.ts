/**
 * Commits the requests to the ledger (admissions, extensions, settlements) in batches, and collects the next batch
 * meanwhile. Each batch is one transaction. An admission sets money and tokens aside for an inference request, in a
 * hold. An extension grows the hold. A settlement books the charge and releases the rest.
 *
 * An idle queue starts a transaction immediately. A busy queue puts all waiting requests, up to a limit, into its next
 * transaction. A settlement of `settleLater` waits a few milliseconds, so that it can share the transaction of another
 * request. An admission of `admitLater` waits a few milliseconds, so that one transaction can admit and settle its
 * request. The queue refuses an admission when too many admissions wait, and an extension when too many extensions
 * wait. It refuses both when their deadline passes (`refuseLate` has an exception). It accepts every other settlement
 * until it stops. When too many settlements are unwritten, it refuses admissions.
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
  type AdmissionCallback,
  type Batch,
  EMPTY,
  type ExtensionResult,
  halves,
  type Outcome,
  partition,
  type SettlementCallback,
  size,
  type WaitingAdmission,
  type WorkKind,
  type WorkTypes
} from "./Batch.ts"
import {
  complete,
  endUnwritten,
  OVERLOADED,
  recordUnknownCommit,
  refuseLate,
  reject,
  STOPPED,
  withoutRefused
} from "./BatchResults.ts"
import { Deadlines } from "./Deadlines.ts"
import type { LockWait } from "./DedicatedConnection.ts"
import { QueuedRequests } from "./QueuedRequests.ts"
import { guarded, type QueueEvent } from "./QueueEvent.ts"
import type { QueueLimits, RunTransaction } from "./QueueLimits.ts"
import { SettlementReaders } from "./SettlementReaders.ts"
import { admissionEntry, settlementEntry } from "./WaitingRequests.ts"

export class GroupCommitQueue<T extends WorkTypes> {
  readonly #kind: WorkKind<T>
  readonly #limits: QueueLimits
  readonly #runTransaction: RunTransaction<T>
  readonly #report: (event: QueueEvent) => void
  readonly #availability: Availability
  readonly #queued: QueuedRequests<T>
  readonly #readers = new SettlementReaders()
  readonly #deadlines: Deadlines
  #batch: Batch<T> = EMPTY
  #working = false
  /** True while a transaction runs; false between two attempts. */
  #isRunning = false
  /** True if a waiting request needs a transaction now; false if only settlements of `settleLater` wait. */
  #urgent = false
  #onIdle: () => void = () => {}
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
    this.#queued = new QueuedRequests(kind, () => this.#wake())
    this.#availability = new Availability(report)
    this.#deadlines = new Deadlines(limits.admissionMillis, (late) => this.#refuseLate(late))
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

  admit(admission: T["admission"], callback: AdmissionCallback<T>): void {
    const entry = this.#entryOf(admission, callback)
    if (entry === undefined) return
    this.#queued.addAdmission(entry)
    this.#wake()
  }

  /** Queues an admission that waits a few milliseconds for {@link settleWithAdmission} or {@link admitNow}. */
  admitLater(admission: T["admission"], callback: AdmissionCallback<T>): void {
    const entry = this.#entryOf(admission, callback)
    if (entry !== undefined) this.#queued.deferred.add(entry)
  }

  admitNow(admission: T["admission"]): void {
    if (this.#queued.endDeferral(admission, undefined)) this.#wake()
  }

  extend(request: T["extension"], callback: (result: ExtensionResult) => void): void {
    const waiting = this.#queued.of(request.admission.principal.userId)
    if (!this.#open || waiting.extensions.length >= this.#limits.waitingAdmissions) {
      callback(OVERLOADED)
      return
    }
    const reporting = guarded(callback, request.admission, this.#report)
    waiting.add({ ...EMPTY, extensions: [{ request, since: performance.now(), callback: reporting }] })
    this.#deadlines.watch()
    this.#wake()
  }

  /**
   * Adds a settlement to the deferred admission of its request, so that one transaction writes both. Returns false if
   * the admission is not deferred. Otherwise `callback` replaces the callback of the admission, which is then called
   * only with a refusal or an error.
   */
  settleWithAdmission(request: T["settlement"], callback: SettlementCallback<T>): boolean {
    const settlement = settlementEntry<T>(request, callback, this.#report)
    const isDeferred = this.#queued.endDeferral(request.admission, settlement)
    if (isDeferred) this.#wake()
    return isDeferred
  }

  settle(request: T["settlement"], callback?: SettlementCallback<T>): void {
    if (this.#add(request, callback)) this.#wake()
  }

  /** Queues a settlement that waits a few milliseconds to share the transaction of a later request. */
  settleLater(request: T["settlement"], callback?: SettlementCallback<T>): void {
    if (!this.#add(request, callback)) return
    if (this.#open) this.#queued.wakeLater()
    else this.#wake()
  }

  /**
   * Writes the waiting settlements immediately. Calls back when their transactions have ended, except those of
   * contended users. Returns a function that prevents the call, or undefined if there is nothing to wait for.
   */
  flush(callback: () => void): (() => void) | undefined {
    const { length } = this.#queued.waiting.settlements
    if (length > 0) this.#wake()
    return this.#stopped ? undefined : this.#readers.add(callback, length)
  }

  /** Returns whether an admission of this user would be decided soon, according to the state of the queue. */
  isResponsive(userId: UserId): boolean {
    return this.#hasRoom(userId) && this.#availability.isResponding && !this.#queued.contended.has(userId)
  }

  /**
   * Refuses admissions and extensions, and waits up to `flushMillis` until all settlements are written. Returns the
   * number of unwritten settlements. A settlement counts as unwritten while its transaction runs.
   */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    this.#queued.refuseAll()
    if (this.#queued.isWaiting) this.#wake()
    if (this.#working || this.#queued.contended.waiting) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, flushMillis)
        this.#onIdle = resolve
      })
      clearTimeout(timer)
    }
    this.#stopped = true
    return endUnwritten<T>([this.#batch, this.#queued.waiting.clear(), this.#queued.contended])
  }

  #count(type: keyof Batch<T>): number {
    return this.#queued.count(type) + this.#batch[type].length
  }

  #hasRoom(userId: UserId): boolean {
    const { unsettled, waitingAdmissions } = this.#limits
    return this.#open && this.#queued.admissionsBefore(userId) < waitingAdmissions && this.unsettled < unsettled
  }

  /** Returns the entry of a new admission. Refuses the admission and returns undefined if there is no room for it. */
  #entryOf(admission: T["admission"], callback: AdmissionCallback<T>): WaitingAdmission<T> | undefined {
    const request = this.#kind.admissionOf(admission)
    if (!this.#hasRoom(request.principal.userId)) {
      callback(OVERLOADED)
      return undefined
    }
    this.#deadlines.watch()
    return admissionEntry(admission, guarded(callback, request, this.#report))
  }

  /** Returns false if the queue has stopped. */
  #add(request: T["settlement"], callback: SettlementCallback<T> | undefined): boolean {
    if (this.#stopped) callback?.(STOPPED)
    else this.#queued.addSettlement(settlementEntry(request, callback, this.#report))
    return !this.#stopped
  }

  #wake(): void {
    this.#urgent = true
    if (this.#working) return
    this.#working = true
    // Requests that arrive in the same turn of the event loop share one transaction.
    setImmediate(() => void this.#work())
  }

  async #work(): Promise<void> {
    const { contended, waiting } = this.#queued
    while (!this.#stopped && ((this.#urgent && size(waiting) > 0) || contended.due)) {
      const lockWait = contended.due ? "none" : "bounded"
      this.#batch = (lockWait === "none" ? contended : waiting).take(this.#limits.batchSize)
      this.#urgent &&= size(waiting) > 0
      const { length } = waiting.settlements
      if (lockWait === "bounded" && this.#batch.settlements.length > 0) this.#readers.batchBegins(length)
      this.#availability.batchBegins()
      await this.#finish(this.#batch, lockWait)
      this.#batch = EMPTY
      this.#readers.batchEnds(waiting.settlements.length)
      this.#availability.batchEnds()
    }
    this.#working = false
    if (!contended.waiting) this.#onIdle()
    else if (!this.#stopped) contended.whenDue(() => this.#wake())
  }

  async #finish(batch: Batch<T>, lockWait: LockWait): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      // A running transaction delays the refusal of an admission with a settlement, so refuse it here.
      if (attempt > 0) refuseLate(batch, performance.now() - this.#limits.admissionMillis)
      const work = withoutRefused(this.#kind, batch)
      if (size(work) === 0) return
      const begunAt = performance.now()
      const onUnknownCommit = (outcome: Outcome<T>) =>
        recordUnknownCommit(partition(this.#kind, work, outcome.contended).others, outcome)
      let outcome: Outcome<T>
      this.#isRunning = true
      try {
        outcome = await this.#runTransaction(work, onUnknownCommit, lockWait)
      } catch (error) {
        this.#isRunning = false
        if (isTransient(error)) {
          this.#availability.failed(error, attempt)
          await afterBackoff(attempt)
          continue
        }
        if (size(work) === 1) reject(this.#kind, work, error, this.#report)
        else for (const half of halves(work)) await this.#finish(half, lockWait)
        return
      }
      this.#isRunning = false
      this.#transactions += 1
      this.#transactionMillis += performance.now() - begunAt
      this.#committed(work, outcome, lockWait)
      return
    }
  }

  #committed(work: Batch<T>, outcome: Outcome<T>, lockWait: LockWait): void {
    this.#availability.succeeded()
    const { contended, waiting } = this.#queued
    const { others, theirs } = partition(this.#kind, work, outcome.contended)
    if (lockWait === "none") {
      waiting.add(contended.release(others))
      this.#urgent = true
    }
    if (size(theirs) > 0) {
      if (!this.#open) refuseLate(theirs, Number.POSITIVE_INFINITY)
      if (contended.none) this.#report({ _tag: "RowsLocked", userIds: [...outcome.contended] })
      this.#queued.separate(theirs, outcome.contended)
    }
    complete(others, outcome, (admission) => this.settle(this.#kind.release(admission)))
  }

  /** Refuses the requests that began to wait at `late` or earlier. Returns whether requests with a deadline wait. */
  #refuseLate(late: number): boolean {
    refuseLate(this.#batch, late, this.#isRunning)
    this.#queued.refuseLate(late)
    return this.#count("extensions") + this.#count("admissions") > 0
  }
}
