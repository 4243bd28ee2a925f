/**
 * The queue of a share of the users: while one batch commits, the next one gathers.
 *
 * An idle lane starts at once; a busy one takes everything that waits, up to a bound, into one transaction. Admissions
 * are refused when too much is queued or when they have waited for too long; settlements never are, so too many of
 * them refuse admissions instead. A batch that meets trouble is tried again until the trouble is over; one that holds
 * a row the database will not take is halved until that row is alone.
 */
import type { Admission, LedgerLoad, Settling } from "@tollgate/application/ports/InferenceLedger"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import { afterBackoff } from "./Backoff.ts"
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
import { isTrouble } from "./DatabaseTrouble.ts"
import type { LedgerOutcome, LedgerWork } from "./LedgerWork.ts"

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

/** What a lane tells its operator. */
export type LaneEvent =
  | { readonly _tag: "Troubled"; readonly error: unknown }
  | { readonly _tag: "Recovered"; readonly afterMillis: number }
  | { readonly _tag: "AdmissionRejected"; readonly admission: Admission; readonly error: unknown }
  | { readonly _tag: "SettlementRejected"; readonly admission: Admission; readonly error: unknown }

/** Carries out work in one transaction; `doubt` takes what it came to when the outcome of the commit is unknown. */
export type CarryOut = (work: LedgerWork, doubt: (outcome: LedgerOutcome) => void) => Promise<LedgerOutcome>

const OVERLOADED: Admit = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
const STOPPED: Settle = Exit.die(new Error("the ledger stopped before the settlement was written"))
const LOOKS_PER_DEADLINE = 10

export class Lane {
  readonly #limits: LaneLimits
  readonly #carryOut: CarryOut
  readonly #tell: (event: LaneEvent) => void
  #admissions: Array<WaitingAdmission> = []
  #settlings: Array<WaitingSettling> = []
  #batch: Batch = EMPTY
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

  constructor(limits: LaneLimits, carryOut: CarryOut, tell: (event: LaneEvent) => void) {
    this.#limits = limits
    this.#carryOut = carryOut
    this.#tell = tell
  }

  get unsettled(): number {
    return this.#settlings.length + this.#batch.settlings.length
  }

  get load(): LedgerLoad {
    return {
      waitingAdmissions: this.#admissions.length + this.#batch.admissions.length,
      unsettled: this.unsettled,
      transactions: this.#transactions,
      transactionMillis: this.#transactionMillis
    }
  }

  admit(admission: Admission, answer: (admit: Admit) => void): void {
    const { waitingAdmissions, unsettled } = this.#limits
    if (!this.#open || this.#admissions.length >= waitingAdmissions || this.unsettled >= unsettled) {
      answer(OVERLOADED)
      return
    }
    this.#admissions.push({ admission, perhaps: false, since: performance.now(), answer })
    this.#watch()
    this.#wake()
  }

  settle(settling: Settling, answer?: (settle: Settle) => void): void {
    if (this.#stopped) {
      answer?.(STOPPED)
      return
    }
    this.#settlings.push({ settling, perhaps: undefined, answer })
    this.#wake()
  }

  /** Takes no more admissions and settles what there is to settle, for as long as is given; how many are left over. */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    for (const waiting of this.#admissions.splice(0)) reply(waiting, OVERLOADED)
    if (this.#working) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, flushMillis)
        this.#idle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#stopped = true
    const left = this.unsettled
    for (const { answer } of [...this.#batch.settlings, ...this.#settlings.splice(0)]) answer?.(STOPPED)
    return left
  }

  #wake(): void {
    if (this.#working) return
    this.#working = true
    // What arrives in the same turn of the event loop shares the transaction.
    setImmediate(() => void this.#work())
  }

  async #work(): Promise<void> {
    do {
      while (!this.#stopped && this.#admissions.length + this.#settlings.length > 0) {
        this.#batch = {
          settlings: this.#settlings.splice(0, this.#limits.batchSize),
          admissions: this.#admissions.splice(0, this.#limits.batchSize)
        }
        const finished = this.#finish(this.#batch)
        // Those who waited for the batch before go on while the database is busy with this one.
        this.#tellDecided()
        await finished
        this.#batch = EMPTY
      }
    } while (this.#tellDecided())
    this.#working = false
    this.#idle()
  }

  /** Whether there was anything to tell, which may have brought more work. */
  #tellDecided(): boolean {
    const decided = this.#decided.splice(0)
    for (const tell of decided) tell()
    return decided.length > 0
  }

  async #finish(batch: Batch): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      const wanted = attempt === 0 ? batch : stillWanted(batch)
      if (size(wanted) === 0) return
      try {
        const begunAt = performance.now()
        const outcome = await this.#carryOut(wanted, (outcome) => doubted(wanted, outcome))
        this.#transactions += 1
        this.#transactionMillis += performance.now() - begunAt
        this.#recovered()
        this.#decided.push(() => this.#answer(wanted, outcome))
        return
      } catch (error) {
        if (isTrouble(error)) {
          if (attempt > 0) this.#troubled(error)
          await afterBackoff(attempt)
        } else if (size(wanted) === 1) {
          this.#reject(wanted, error)
          return
        } else {
          for (const half of halves(wanted)) await this.#finish(half)
          return
        }
      }
    }
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
      for (const waiting of this.#batch.admissions) if (waiting.since <= late) reply(waiting, OVERLOADED)
      const queued = this.#admissions.findIndex(({ since }) => since > late)
      for (const waiting of this.#admissions.splice(0, queued < 0 ? this.#admissions.length : queued)) {
        reply(waiting, OVERLOADED)
      }
      if (this.#admissions.length + this.#batch.admissions.length > 0) this.#watch()
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
