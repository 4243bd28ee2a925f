/**
 * Users with rows that another session has locked, and the requests of these users.
 *
 * Their requests wait here in order, so that the requests of other users need not wait with them. A user is added when a
 * transaction had to leave the user out, and removed when a transaction succeeds. Until then all requests of the user
 * are retried without waiting for locks.
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

  /** Whether there are requests to retry and the pause after the last failed attempt is over. */
  get due(): boolean {
    return this.waiting && performance.now() >= this.#dueAt
  }

  /** Calls back once when a retry is due, even if requested several times. */
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

  /** The ordinary case. */
  get none(): boolean {
    return this.#lines.size === 0
  }

  /** Whether there are requests to retry. */
  get waiting(): boolean {
    return [...this.#lines.values()].some((line) => size(line) > 0)
  }

  get settlements(): ReadonlyArray<WaitingSettlement<S, R>> {
    return [...this.#lines.values()].flatMap(({ settlements }) => settlements)
  }

  get admissions(): ReadonlyArray<WaitingAdmission<A, E>> {
    return [...this.#lines.values()].flatMap(({ admissions }) => admissions)
  }

  /** Adds requests after those that wait for the same users. */
  add({ settlements, admissions }: Batch<A, S, R, E>): void {
    for (const waiting of settlements) this.#lineOf(waiting).settlements.push(waiting)
    for (const waiting of admissions) this.#lineOf(waiting).admissions.push(waiting)
  }

  /** Removes a batch to retry. Its users stay contended. A batch of one holds one request of either kind. */
  take(batchSize: number): Batch<A, S, R, E> {
    const batch: Line<A, S, R, E> = { settlements: [], admissions: [] }
    const room = (taken: ReadonlyArray<unknown>) => (batchSize === 1 ? 1 - size(batch) : batchSize - taken.length)
    for (const line of this.#lines.values()) {
      batch.settlements.push(...line.settlements.splice(0, room(batch.settlements)))
      batch.admissions.push(...line.admissions.splice(0, room(batch.admissions)))
    }
    return batch
  }

  /** Puts a failed batch before the other requests of its users, and its users behind all other contended users. */
  putBack(batch: Batch<A, S, R, E>): void {
    this.#dueAt = performance.now() + RETRY_MILLIS
    const later = this.#usersOf(batch).map((userId) => this.#removeUser(userId))
    this.add(batch)
    for (const line of later) this.add(line)
  }

  /** Removes the users of a batch that succeeded, and returns their other requests. */
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
