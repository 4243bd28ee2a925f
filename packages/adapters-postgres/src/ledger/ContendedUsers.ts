/**
 * Users whose rows somebody else has in hand, and what is to be done for them.
 *
 * It waits here, in its order, so that nobody else has to wait with it. A user comes here when a transaction had to leave
 * them out and goes when one did not; meanwhile everything of theirs is tried again and again, without waiting for rows.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import { type Batch, size, type WaitingAdmission, type WaitingSettling } from "./Batch.ts"
import { userOf } from "./LedgerWork.ts"

/** Between two attempts. */
const PAUSE_MILLIS = 50

interface Line {
  settlings: Array<WaitingSettling>
  admissions: Array<WaitingAdmission>
}

export class ContendedUsers {
  readonly #lines = new Map<UserId, Line>()
  #dueAt = 0
  #timer: NodeJS.Timeout | undefined

  /** Whether there is something to try, and the last attempt in vain was long enough ago. */
  get due(): boolean {
    return this.waiting && performance.now() >= this.#dueAt
  }

  /** Calls once, however often it is asked. */
  whenDue(call: () => void): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        call()
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

  /** Whether there is anything to try. */
  get waiting(): boolean {
    return [...this.#lines.values()].some((line) => size(line) > 0)
  }

  get settlings(): ReadonlyArray<WaitingSettling> {
    return [...this.#lines.values()].flatMap(({ settlings }) => settlings)
  }

  get admissions(): ReadonlyArray<WaitingAdmission> {
    return [...this.#lines.values()].flatMap(({ admissions }) => admissions)
  }

  /** Behind what waits for the same users. */
  add({ settlings, admissions }: Batch): void {
    for (const waiting of settlings) this.#lineOf(waiting).settlings.push(waiting)
    for (const waiting of admissions) this.#lineOf(waiting).admissions.push(waiting)
  }

  /** Some of it, to be tried; its users stay. */
  take(atMost: number): Batch {
    const settlings: Array<WaitingSettling> = []
    const admissions: Array<WaitingAdmission> = []
    for (const line of this.#lines.values()) {
      settlings.push(...line.settlings.splice(0, atMost - settlings.length))
      admissions.push(...line.admissions.splice(0, atMost - admissions.length))
    }
    return { settlings, admissions }
  }

  /** Before what waits for the same users, who are the last to be taken from next. */
  putBack(tried: Batch): void {
    this.#dueAt = performance.now() + PAUSE_MILLIS
    const users = new Set([...tried.settlings, ...tried.admissions].map(userOf))
    const later = [...users].map((userId) => this.#release(userId))
    this.add(tried)
    for (const line of later) this.add(line)
  }

  /** What else waits for the users of what was done, who are not busy any more. */
  release({ settlings, admissions }: Batch): Batch {
    const rest: Line = { settlings: [], admissions: [] }
    for (const userId of new Set([...settlings, ...admissions].map(userOf))) {
      const line = this.#release(userId)
      rest.settlings.push(...line.settlings)
      rest.admissions.push(...line.admissions)
    }
    return rest
  }

  #lineOf(waiting: WaitingSettling | WaitingAdmission): Line {
    const userId = userOf(waiting)
    const known = this.#lines.get(userId)
    if (known !== undefined) return known
    const line: Line = { settlings: [], admissions: [] }
    this.#lines.set(userId, line)
    return line
  }

  #release(userId: UserId): Line {
    const line = this.#lines.get(userId) ?? { settlings: [], admissions: [] }
    this.#lines.delete(userId)
    return line
  }
}
