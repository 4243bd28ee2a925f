/**
 * Stores the waiting requests of contended users. A user becomes contended when a transaction skips the requests of the
 * user, because another session has locked a row of the user. The user stays contended until a later transaction
 * completes requests of the user. In the meantime, the requests of the user are retried without waiting for locks.
 *
 * The requests of a user wait here in order. They do not delay the requests of other users.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import {
  type AdmissionEntry,
  type Batch,
  type ExtensionEntry,
  type SettlementEntry,
  size,
  userOf,
  type WaitingAdmission,
  type WaitingExtension,
  type WaitingSettlement,
  type WorkKind,
  type WorkTypes
} from "./Batch.ts"
import { WaitingRequests } from "./WaitingRequests.ts"

const RETRY_MILLIS = 50
const NONE: ReadonlyArray<never> = []

export class ContendedUsers<T extends WorkTypes> {
  readonly #kind: WorkKind<T>
  readonly #requestsByUser = new Map<UserId, WaitingRequests<T>>()
  #dueAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(kind: WorkKind<T>) {
    this.#kind = kind
  }

  /** True if a request waits for a retry and the pause after the last failed attempt is over. */
  get due(): boolean {
    return this.waiting && performance.now() >= this.#dueAt
  }

  /** Calls `callback` when the next retry is due. Ignored while an earlier callback is still scheduled. */
  whenDue(callback: () => void): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        callback()
      },
      Math.ceil(Math.max(0, this.#dueAt - performance.now()))
    ).unref()
  }

  has(userId: UserId): boolean {
    return this.#requestsByUser.has(userId)
  }

  /** True if no user is contended, which is the usual case. */
  get none(): boolean {
    return this.#requestsByUser.size === 0
  }

  /** True if a request waits for a retry. */
  get waiting(): boolean {
    return [...this.#requestsByUser.values()].some((requests) => size(requests) > 0)
  }

  get settlements(): ReadonlyArray<WaitingSettlement<T>> {
    return this.none ? NONE : [...this.#requestsByUser.values()].flatMap(({ settlements }) => settlements)
  }

  get extensions(): ReadonlyArray<WaitingExtension<T>> {
    return this.none ? NONE : [...this.#requestsByUser.values()].flatMap(({ extensions }) => extensions)
  }

  get admissions(): ReadonlyArray<WaitingAdmission<T>> {
    return this.none ? NONE : [...this.#requestsByUser.values()].flatMap(({ admissions }) => admissions)
  }

  /** Adds requests behind the waiting requests of the same users. */
  add({ settlements, extensions, admissions }: Batch<T>): void {
    for (const waiting of settlements) this.#requestsOf(waiting).settlements.push(waiting)
    for (const waiting of extensions) this.#requestsOf(waiting).extensions.push(waiting)
    for (const waiting of admissions) this.#requestsOf(waiting).admissions.push(waiting)
  }

  /**
   * Removes and returns a batch to retry. The users of the batch stay contended. With a batch size of 1, the batch
   * contains one request.
   */
  take(batchSize: number): Batch<T> {
    const batch = new WaitingRequests<T>()
    for (const requests of this.#requestsByUser.values()) requests.moveTo(batch, batchSize)
    return batch
  }

  /**
   * Puts a failed batch before the other requests of the same users, and moves these users behind all other contended
   * users.
   */
  putBack(batch: Batch<T>): void {
    this.#dueAt = performance.now() + RETRY_MILLIS
    const later = this.#usersOf(batch).map((userId) => this.#removeUser(userId))
    this.add(batch)
    for (const requests of later) this.add(requests)
  }

  /** Removes the users of a successful batch, and returns the requests of these users that still wait. */
  release(batch: Batch<T>): Batch<T> {
    const rest = new WaitingRequests<T>()
    for (const userId of this.#usersOf(batch)) rest.add(this.#removeUser(userId))
    return rest
  }

  #usersOf({ settlements, extensions, admissions }: Batch<T>): ReadonlyArray<UserId> {
    const all = [...settlements, ...extensions, ...admissions]
    return [...new Set(all.map((waiting) => userOf(this.#kind, waiting)))]
  }

  #requestsOf(waiting: SettlementEntry<T> | ExtensionEntry<T> | AdmissionEntry<T>): WaitingRequests<T> {
    const userId = userOf(this.#kind, waiting)
    const existing = this.#requestsByUser.get(userId)
    if (existing !== undefined) return existing
    const requests = new WaitingRequests<T>()
    this.#requestsByUser.set(userId, requests)
    return requests
  }

  #removeUser(userId: UserId): WaitingRequests<T> {
    const requests = this.#requestsByUser.get(userId) ?? new WaitingRequests<T>()
    this.#requestsByUser.delete(userId)
    return requests
  }
}
