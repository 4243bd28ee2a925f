/**
 * Stores the requests of a group commit queue that are in no batch: the waiting requests, the requests of contended
 * users, and the deferred admissions.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import {
  type Batch,
  EMPTY,
  partition,
  size,
  type WaitingAdmission,
  type WaitingSettlement,
  type WorkKind,
  type WorkTypes
} from "./Batch.ts"
import { refuseLate } from "./BatchResults.ts"
import { ContendedUsers } from "./ContendedUsers.ts"
import { DeferredAdmissions } from "./DeferredAdmissions.ts"
import { WaitingRequests } from "./WaitingRequests.ts"

/** The maximum time for which a settlement of `settleLater` starts no transaction. */
const LATER_MILLIS = 4

export class QueuedRequests<T extends WorkTypes> {
  readonly waiting = new WaitingRequests<T>()
  readonly contended: ContendedUsers<T>
  readonly deferred: DeferredAdmissions<T>
  readonly #kind: WorkKind<T>
  readonly #onDue: () => void
  #timer: NodeJS.Timeout | undefined

  /** `onDue` is called when requests that waited a few milliseconds need a transaction. */
  constructor(kind: WorkKind<T>, onDue: () => void) {
    this.#kind = kind
    this.#onDue = onDue
    this.contended = new ContendedUsers(kind)
    this.deferred = new DeferredAdmissions((due) => {
      for (const entry of due) this.addAdmission(entry)
      onDue()
    })
  }

  /** True if a request waits for a batch. A deferred admission does not wait for a batch yet. */
  get isWaiting(): boolean {
    return size(this.waiting) > 0 || this.contended.waiting
  }

  count(type: keyof Batch<T>): number {
    const deferred = type === "admissions" ? this.deferred.length : 0
    return deferred + this.waiting[type].length + this.contended[type].length
  }

  /** Returns the requests that a new request of this user joins. */
  of(userId: UserId): WaitingRequests<T> | ContendedUsers<T> {
    return this.contended.has(userId) ? this.contended : this.waiting
  }

  /** Returns the number of admissions that count for the limit of waiting admissions, for an admission of this user. */
  admissionsBefore(userId: UserId): number {
    return this.of(userId).admissions.length + this.deferred.length
  }

  addAdmission(entry: WaitingAdmission<T>): void {
    const waiting = this.of(this.#kind.admissionOf(entry.admission).principal.userId)
    if (waiting === this.contended) waiting.add({ ...EMPTY, admissions: [entry] })
    else this.waiting.admissions.push(entry)
  }

  /**
   * Makes a deferred admission a waiting admission, with this settlement if it is given. Returns false if the admission
   * is not deferred.
   */
  endDeferral(admission: T["admission"], settlement: WaitingSettlement<T> | undefined): boolean {
    const entry = this.deferred.remove(admission)
    if (entry === undefined) return false
    entry.settlement = settlement
    this.addAdmission(entry)
    return true
  }

  addSettlement(entry: WaitingSettlement<T>): void {
    const waiting = this.of(entry.request.admission.principal.userId)
    if (waiting === this.contended) waiting.add({ ...EMPTY, settlements: [entry] })
    else this.waiting.settlements.push(entry)
  }

  /** Calls `onDue` in {@link LATER_MILLIS}, if a request still waits then. */
  wakeLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.isWaiting) this.#onDue()
    }, LATER_MILLIS)
  }

  /** Moves skipped requests and the waiting requests of their users to the requests of contended users. */
  separate(skipped: Batch<T>, users: ReadonlySet<UserId>): void {
    const { others, theirs } = partition(this.#kind, this.waiting.clear(), users)
    this.contended.putBack(skipped)
    this.contended.add(theirs)
    this.waiting.add(others)
  }

  /** Refuses the extensions and admissions that began to wait at `late` or earlier. */
  refuseLate(late: number): void {
    refuseLate(this.contended, late)
    this.waiting.removeLate(late)
  }

  /** Refuses all extensions and admissions. */
  refuseAll(): void {
    this.waiting.admissions.push(...this.deferred.removeAll())
    this.refuseLate(Number.POSITIVE_INFINITY)
  }
}
