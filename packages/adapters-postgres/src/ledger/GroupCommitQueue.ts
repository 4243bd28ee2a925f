/**
 * The queue of a share of the users: while one batch commits, the next one gathers.
 *
 * An idle lane starts at once; a busy one takes everything that waits, up to a bound, into one transaction. Admissions
 * are refused when too much is queued or when they have waited for too long; settlements never are, so too many of
 * them refuse admissions instead. A batch that meets trouble is tried again until the trouble is over; one that holds
 * a row the database will not take is halved until that row is alone. Users whose rows somebody else keeps wait by
 * themselves.
 */
import type { Admission, LedgerLoad, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import { isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"
import {
  type Admit,
  type Batch,
  doubted,
  EMPTY,
  halves,
  release,
  reply,
  type Settle,
  size,
  stillWanted,
  type WaitingAdmission,
  type WaitingSettling
} from "./Batch.ts"
import { ContendedUsers } from "./ContendedUsers.ts"
import type { Patience } from "./DedicatedConnection.ts"
import { divided, type LedgerOutcome, type LedgerWork } from "./LedgerWork.ts"
import type { QueueEvent } from "./QueueEvent.ts"

export interface LaneLimits {
  /** Admissions, and settlements, in one transaction. */
  readonly batchSize: number
  /** Admissions that may wait for their transaction. */
  readonly waitingAdmissions: number
  /** Settlements that may wait before admissions are refused. */
  readonly unsettled: number
  /** An admission is answered within this time, whatever the database does. */
  readonly admissionMillis: number
}

/** Carries out work in one transaction; `doubt` takes what it came to when the outcome of the commit is unknown. */
export type CarryOut = (
  work: LedgerWork,
  doubt: (outcome: LedgerOutcome) => void,
  patience: Patience
) => Promise<LedgerOutcome>

const OVERLOADED: Admit = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
const STOPPED: Settle = Exit.die(new Error("the ledger stopped before the settlement was written"))
const LOOKS_PER_DEADLINE = 10

export class GroupCommitQueue {
  readonly #limits: LaneLimits
  readonly #carryOut: CarryOut
  readonly #tell: (event: QueueEvent) => void
  #admissions: Array<WaitingAdmission> = []
  #settlings: Array<WaitingSettling> = []
  #batch: Batch = EMPTY
  readonly #busy = new ContendedUsers()
  /** What became of batches that are over, still to be told. */
  readonly #decided: Array<() => void> = []
  #working = false
  #idle: () => void = () => {}
  #watching = false
  #open = true
  #stopped = false
  #troubledSince: number | undefined
  #transactions = 0
  #transactionMillis = 0

  constructor(limits: LaneLimits, carryOut: CarryOut, tell: (event: QueueEvent) => void) {
    this.#limits = limits
    this.#carryOut = carryOut
    this.#tell = tell
  }

  get unsettled(): number {
    return this.#settlings.length + this.#batch.settlings.length + this.#busy.settlings.length
  }

  get load(): LedgerLoad {
    return {
      waitingAdmissions: this.#waitingAdmissions,
      unsettled: this.unsettled,
      transactions: this.#transactions,
      transactionMillis: this.#transactionMillis
    }
  }

  admit(admission: Admission, answer: (admit: Admit) => void): void {
    const { waitingAdmissions, unsettled } = this.#limits
    const isBusy = this.#busy.has(admission.principal.userId)
    const waiting = isBusy ? this.#busy.admissions : this.#admissions
    if (!this.#open || waiting.length >= waitingAdmissions || this.unsettled >= unsettled) {
      answer(OVERLOADED)
      return
    }
    const entry = { admission, maybeCommitted: false, since: performance.now(), answer }
    if (isBusy) this.#busy.add({ settlings: [], admissions: [entry] })
    else this.#admissions.push(entry)
    this.#watch()
    this.#wake()
  }

  settle(settling: SettlementRequest, answer?: (settle: Settle) => void): void {
    if (this.#stopped) {
      answer?.(STOPPED)
      return
    }
    const entry = { settling, maybeCommitted: undefined, answer }
    if (this.#busy.has(settling.admission.principal.userId)) this.#busy.add({ settlings: [entry], admissions: [] })
    else this.#settlings.push(entry)
    this.#wake()
  }

  /** Takes no more admissions and settles what there is to settle, for as long as is given; how many are left over. */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    for (const waiting of [...this.#admissions.splice(0), ...this.#busy.admissions]) reply(waiting, OVERLOADED)
    if (this.#working || this.#busy.waiting) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, flushMillis)
        this.#idle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#stopped = true
    const left = new Set([...this.#batch.settlings, ...this.#settlings.splice(0), ...this.#busy.settlings])
    for (const { answer } of left) answer?.(STOPPED)
    return left.size
  }

  get #waitingAdmissions(): number {
    return this.#admissions.length + this.#batch.admissions.length + this.#busy.admissions.length
  }

  #wake(): void {
    if (this.#working) return
    this.#working = true
    // What arrives in the same turn of the event loop shares the transaction.
    setImmediate(() => void this.#work())
  }

  async #work(): Promise<void> {
    do {
      while (!this.#stopped && (this.#admissions.length + this.#settlings.length > 0 || this.#busy.due)) {
        const patience = this.#busy.due ? "none" : "some"
        this.#batch = this.#next(patience)
        const finished = this.#finish(this.#batch, patience)
        // Those who waited for the batch before go on while the database is busy with this one.
        this.#tellDecided()
        await finished
        this.#batch = EMPTY
      }
    } while (this.#tellDecided())
    this.#working = false
    if (!this.#busy.waiting) this.#idle()
    else if (!this.#stopped) this.#busy.whenDue(() => this.#wake())
  }

  #next(patience: Patience): Batch {
    const { batchSize } = this.#limits
    if (patience === "none") return this.#busy.take(batchSize)
    return { settlings: this.#settlings.splice(0, batchSize), admissions: this.#admissions.splice(0, batchSize) }
  }

  /** Whether there was anything to tell, which may have brought more work. */
  #tellDecided(): boolean {
    const decided = this.#decided.splice(0)
    for (const tell of decided) tell()
    return decided.length > 0
  }

  async #finish(batch: Batch, patience: Patience): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      const wanted = attempt === 0 && patience === "some" ? batch : stillWanted(batch)
      if (size(wanted) === 0) return
      try {
        const begunAt = performance.now()
        const doubt = (outcome: LedgerOutcome) => doubted(divided(wanted, outcome.busy).others, outcome)
        const outcome = await this.#carryOut(wanted, doubt, patience)
        this.#transactions += 1
        this.#transactionMillis += performance.now() - begunAt
        this.#recovered()
        const { others, theirs } = divided(wanted, outcome.busy)
        if (patience === "none") this.#queue(this.#busy.release(others))
        if (size(theirs) > 0) this.#leaveOut(theirs, outcome.busy)
        this.#decided.push(() => this.#answer(others, outcome))
        return
      } catch (error) {
        if (isTransient(error)) {
          if (attempt > 0) this.#troubled(error)
          await afterBackoff(attempt)
        } else if (size(wanted) === 1) {
          this.#reject(wanted, error)
          return
        } else {
          for (const half of halves(wanted)) await this.#finish(half, patience)
          return
        }
      }
    }
  }

  /** What waits for the same users waits with it. */
  #leaveOut(tried: Batch, users: ReadonlySet<UserId>): void {
    if (!this.#open) for (const waiting of tried.admissions) reply(waiting, OVERLOADED)
    if (this.#busy.none) this.#tell({ _tag: "RowsKept", userIds: [...users] })
    const { others, theirs } = divided({ settlings: this.#settlings, admissions: this.#admissions }, users)
    this.#busy.putBack(tried)
    this.#busy.add(theirs)
    this.#settlings = []
    this.#admissions = []
    this.#queue(others)
  }

  #queue({ settlings, admissions }: Batch): void {
    this.#settlings.push(...settlings)
    this.#admissions.push(...admissions)
  }

  #answer({ settlings, admissions }: Batch, { settled, admitted }: LedgerOutcome): void {
    for (const [i, { answer }] of settlings.entries()) answer?.(Exit.succeed(settled[i]))
    for (const [i, waiting] of admissions.entries()) {
      const outcome = admitted[i]
      if (outcome === undefined) continue
      if (outcome._tag === "Left") reply(waiting, Exit.fail(outcome.left))
      else if (outcome.right === "gone") reply(waiting, OVERLOADED)
      // Refused in the meantime, so nobody else will give the hold back.
      else if (!reply(waiting, Exit.void)) this.settle(release(waiting.admission))
    }
  }

  #reject({ settlings, admissions }: Batch, error: unknown): void {
    for (const { settling, answer } of settlings) {
      this.#tell({ _tag: "SettlementRejected", admission: settling.admission, error })
      answer?.(Exit.die(error))
    }
    for (const waiting of admissions) {
      this.#tell({ _tag: "AdmissionRejected", admission: waiting.admission, error })
      reply(waiting, Exit.die(error))
    }
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    const tick = this.#limits.admissionMillis / LOOKS_PER_DEADLINE
    setTimeout(() => {
      this.#watching = false
      // Who cannot wait for the next look is answered now.
      const late = performance.now() - this.#limits.admissionMillis + tick
      const isLate = ({ since }: WaitingAdmission) => since <= late
      const all = [...this.#batch.admissions, ...this.#admissions, ...this.#busy.admissions]
      for (const waiting of all.filter(isLate)) reply(waiting, OVERLOADED)
      this.#admissions = this.#admissions.filter((waiting) => !isLate(waiting))
      if (this.#waitingAdmissions > 0) this.#watch()
    }, tick).unref()
  }

  #troubled(error: unknown): void {
    if (this.#troubledSince !== undefined) return
    this.#troubledSince = performance.now()
    this.#tell({ _tag: "Troubled", error })
  }

  #recovered(): void {
    if (this.#troubledSince === undefined) return
    this.#tell({ _tag: "Recovered", afterMillis: Math.round(performance.now() - this.#troubledSince) })
    this.#troubledSince = undefined
  }
}
