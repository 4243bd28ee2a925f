/**
 * Stores the content that was written to the client of one request, how much of it is delivered, and the usage that the
 * provider has reported.
 *
 * The relay updates this state. Checkpoints, `StreamAllowance` and the settlement read it.
 */

import { chargeFor, type Ending, type LocalCounts, type Outcome } from "@tollgate/domain/inference/Charge"
import { type Checkpoint, checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded } from "@tollgate/domain/ledger/KeyHold"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import type { Measured } from "../ledger/InferenceLedger.ts"
import { type ChoiceSwitch, DeliveredText } from "./DeliveredText.ts"
import type { Indexed } from "./IndexedSet.ts"

/** A monotonic clock in milliseconds. Only the difference between two readings has a meaning. */
export interface RequestClock {
  /** The reading of the clock when the request was accepted. */
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
}

/** Decides how much of a stream may be written to the client. `StreamAllowance` implements this interface. */
export interface Allowance {
  /** True only if the hold is durable. Before that, not even the status of the response may be written. */
  readonly isOpen: boolean
  /** The reason why nothing more may be written. */
  readonly refusal: InsufficientBalance | KeyBudgetExceeded | Overloaded | undefined
  /** An upper limit of the output tokens in the content that has been sent so far. */
  readonly sentOutputLimit: Tokens
  /**
   * Called when `permits` may return true again, or when `refusal` is set. The attempt that writes the stream assigns
   * this callback.
   */
  onChange: () => void
  /**
   * Returns true if this content may be written now, and then counts the content as sent. After false, `onChange` is
   * called later, unless `refusal` is already set.
   */
  readonly permits: (content: string) => boolean
  /** Repeats an extension that the ledger could not decide. Must be called from time to time while content waits. */
  readonly retry: (nowMillis: number) => void
}

export class Delivery implements Indexed {
  index = -1
  readonly requestId: RequestId
  readonly text = new DeliveredText()
  reported: ReportedUsage.ReportedUsage = ReportedUsage.unreported
  /** How much of a stream may be written; undefined for a whole response. */
  allowance: Allowance | undefined
  readonly #inputFloor: Tokens
  readonly #clock: RequestClock
  #firstDeltaAtMillis: number | undefined
  #deltasAtLastOutputReport = 0

  constructor(requestId: RequestId, inputFloor: Tokens, clock: RequestClock) {
    this.requestId = requestId
    this.#inputFloor = inputFloor
    this.#clock = clock
  }

  /** Records content that was written to the client. The positions of `switches` count from the start of `content`. */
  recordSent(content: string, switches?: ReadonlyArray<ChoiceSwitch>): void {
    if (content === "") return
    this.#firstDeltaAtMillis ??= this.#clock.nowMillis()
    this.text.append(content, switches)
  }

  recordReported(usage: ReportedUsage.ReportedUsage): void {
    this.reported = ReportedUsage.merge(this.reported, usage)
    if (usage.output !== undefined && usage.output === this.reported.output)
      this.#deltasAtLastOutputReport = this.text.sentDeltas
  }

  /** Discards the reported usage before the request is sent to another provider. */
  discardReported(): void {
    this.reported = ReportedUsage.unreported
    this.#deltasAtLastOutputReport = 0
  }

  /** Returns the data from which the charge is computed if the request ends now with this ending. */
  outcome(ending: Ending): Outcome {
    return {
      ending,
      reported: this.reported,
      deltas: this.text.deltas,
      deltasAtLastOutputReport: this.#deltasAtLastOutputReport,
      sentOutputLimit: this.allowance?.sentOutputLimit
    }
  }

  /** Returns the ending, the charge and the times of the request. */
  measured(outcome: Outcome, counts: LocalCounts): Measured {
    const { ttftMillis, durationMillis } = this
    return { ending: outcome.ending, charge: chargeFor(outcome, counts), ttftMillis, durationMillis }
  }

  get checkpoint(): Checkpoint {
    return checkpoint({
      deltas: this.text.deltas,
      characters: this.text.characters,
      inputFloor: this.#inputFloor
    })
  }

  /**
   * The time from the acceptance of the request to its first delta, in milliseconds; undefined if there is no delta.
   */
  get ttftMillis(): number | undefined {
    return this.#firstDeltaAtMillis === undefined
      ? undefined
      : Math.round(this.#firstDeltaAtMillis - this.#clock.acceptedAtMillis)
  }

  get durationMillis(): number {
    return Math.round(this.#clock.nowMillis() - this.#clock.acceptedAtMillis)
  }
}
