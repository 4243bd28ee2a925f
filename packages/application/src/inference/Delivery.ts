/**
 * The delivery state of one request: the content that the client received, and the usage that the provider reported.
 *
 * The relay updates it while bytes pass; checkpoints and the settlement read it.
 */

import { chargeFor, type Ending, type LocalCounts, type Outcome } from "@tollgate/domain/inference/Charge"
import { type Checkpoint, checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import type { Measured } from "../ledger/InferenceLedger.ts"
import { DeliveredText, type Turn } from "./DeliveredText.ts"
import type { Indexed } from "./IndexedSet.ts"

/** A monotonic clock in milliseconds without a defined epoch, and its reading when the request was accepted. */
export interface RequestClock {
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
}

export class Delivery implements Indexed {
  index = -1
  readonly requestId: RequestId
  readonly text = new DeliveredText()
  reported: ReportedUsage.ReportedUsage = ReportedUsage.unreported
  readonly #promptFloor: Tokens
  readonly #clock: RequestClock
  #firstDeltaAtMillis: number | undefined
  #deltasAtLastOutputReport = 0

  constructor(requestId: RequestId, promptFloor: Tokens, clock: RequestClock) {
    this.requestId = requestId
    this.#promptFloor = promptFloor
    this.#clock = clock
  }

  /** Records content written to the client, with the positions where the choice changes. */
  send(content: string, turns?: ReadonlyArray<Turn>): void {
    if (content === "") return
    this.#firstDeltaAtMillis ??= this.#clock.nowMillis()
    this.text.append(content, turns)
  }

  report(usage: ReportedUsage.ReportedUsage): void {
    this.reported = ReportedUsage.merge(this.reported, usage)
    if (usage.output !== undefined && usage.output === this.reported.output)
      this.#deltasAtLastOutputReport = this.text.sentDeltas
  }

  /** Discards the reported usage, because another provider is tried next. */
  forgetReported(): void {
    this.reported = ReportedUsage.unreported
    this.#deltasAtLastOutputReport = 0
  }

  /** Returns the outcome if the request ends with this ending now. */
  outcome(ending: Ending): Outcome {
    return {
      ending,
      reported: this.reported,
      deltas: this.text.deltas,
      deltasAtLastOutputReport: this.#deltasAtLastOutputReport
    }
  }

  /** Returns the ending, the charge and the times of an outcome. */
  measured(outcome: Outcome, counts: LocalCounts): Measured {
    const { ttftMillis, durationMillis } = this
    return { ending: outcome.ending, charge: chargeFor(outcome, counts), ttftMillis, durationMillis }
  }

  get checkpoint(): Checkpoint {
    return checkpoint({
      deltas: this.text.deltas,
      characters: this.text.characters,
      promptFloor: this.#promptFloor
    })
  }

  /** The time from acceptance to the first delta in whole milliseconds; undefined without a delta. */
  get ttftMillis(): number | undefined {
    return this.#firstDeltaAtMillis === undefined
      ? undefined
      : Math.round(this.#firstDeltaAtMillis - this.#clock.acceptedAtMillis)
  }

  get durationMillis(): number {
    return Math.round(this.#clock.nowMillis() - this.#clock.acceptedAtMillis)
  }
}
