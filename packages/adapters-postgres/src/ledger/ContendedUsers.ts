/**
 * Stores the waiting requests of contended users. A user is contended while another session has locked a row of the
 * user.
 *
 * The requests wait here in order, so that they do not delay the requests of other users. A user is added when a
 * transaction had to skip the user's rows, and removed when a transaction with the user's requests succeeds. Between
 * these two transactions, all requests of the user are retried without waiting for locks.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import {
  type Batch,
  type HasAdmission,
  size,
  userOf,
  type WaitingAdmission,
  type WaitingSettlement,
  type WorkKind
} from "./Batch.ts"

const RETRY_MILLIS = 50

interface Line<A, S, R, E> {
  settlements: Array<WaitingSettlement<S, R>>
  admissions: Array<WaitingAdmission<A, E>>
}

export class ContendedUsers<A, S extends HasAdmission, R, E> {
  readonly #kind: WorkKind<A, S>
  readonly #lines = new Map<UserId, Line<A, S, R, E>>()
  #dueAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(kind: WorkKind<A, S>) {
    this.#kind = kind
  }

  /** Whether a request waits for a retry, and the pause after the last failed attempt is over. */
  get due(): boolean {
    return this.waiting && performance.now() >= this.#dueAt
  }

  /** Calls `callback` when a retry is due. While a callback is scheduled, further calls of `whenDue` are ignored. */
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
    return this.#lines.has(userId)
  }

  /** Whether no user is contended, which is the usual case. */
  get none(): boolean {
    return this.#lines.size === 0
  }

  /** Whether a request waits for a retry. */
  get waiting(): boolean {
    return [...this.#lines.values()].some((line) => size(line) > 0)
  }

  get settlements(): ReadonlyArray<WaitingSettlement<S, R>> {
    return [...this.#lines.values()].flatMap(({ settlements }) => settlements)
  }

  get admissions(): ReadonlyArray<WaitingAdmission<A, E>> {
    return [...this.#lines.values()].flatMap(({ admissions }) => admissions)
  }

  /** Adds requests behind the waiting requests of the same users. */
  add({ settlements, admissions }: Batch<A, S, R, E>): void {
    for (const waiting of settlements) this.#lineOf(waiting).settlements.push(waiting)
    for (const waiting of admissions) this.#lineOf(waiting).admissions.push(waiting)
  }

  /**
   * Removes and returns a batch to retry. The users of the batch stay contended. With a batch size of 1, the batch
   * contains one request: a settlement or an admission.
   */
  take(batchSize: number): Batch<A, S, R, E> {
    const batch: Line<A, S, R, E> = { settlements: [], admissions: [] }
    const room = (taken: ReadonlyArray<unknown>) => (batchSize === 1 ? 1 - size(batch) : batchSize - taken.length)
    for (const line of this.#lines.values()) {
      batch.settlements.push(...line.settlements.splice(0, room(batch.settlements)))
      batch.admissions.push(...line.admissions.splice(0, room(batch.admissions)))
    }
    return batch
  }

  /**
   * Puts a failed batch before the other requests of the same users, and moves these users behind all other contended
   * users.
   */
  putBack(batch: Batch<A, S, R, E>): void {
    this.#dueAt = performance.now() + RETRY_MILLIS
    const later = this.#usersOf(batch).map((userId) => this.#removeUser(userId))
    this.add(batch)
    for (const line of later) this.add(line)
  }

  /** Removes the users of a successful batch, and returns the requests of these users that still wait. */
  release(batch: Batch<A, S, R, E>): Batch<A, S, R, E> {
    const rest: Line<A, S, R, E> = { settlements: [], admissions: [] }
    for (const userId of this.#usersOf(batch)) {
      const line = this.#removeUser(userId)
      rest.settlements.push(...line.settlements)
      rest.admissions.push(...line.admissions)
    }
    return rest
  }

  #usersOf({ settlements, admissions }: Batch<A, S, R, E>): ReadonlyArray<UserId> {
    return [...new Set([...settlements, ...admissions].map((waiting) => userOf(this.#kind, waiting)))]
  }

  #lineOf(waiting: WaitingSettlement<S, R> | WaitingAdmission<A, E>): Line<A, S, R, E> {
    const userId = userOf(this.#kind, waiting)
    const known = this.#lines.get(userId)
    if (known !== undefined) return known
    const line: Line<A, S, R, E> = { settlements: [], admissions: [] }
    this.#lines.set(userId, line)
    return line
  }

  #removeUser(userId: UserId): Line<A, S, R, E> {
    const line = this.#lines.get(userId) ?? { settlements: [], admissions: [] }
    this.#lines.delete(userId)
    return line
  }
}
