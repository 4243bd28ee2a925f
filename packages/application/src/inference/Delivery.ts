/**
 * The state of one request in delivery: the content that its client received, and the usage that its provider reported.
 *
 * Written by the relay while bytes pass, read by checkpoints and by the settlement.
 */

import { chargeFor, type Ending, type LocalCounts, type Outcome } from "@tollgate/domain/inference/Charge"
import { type Checkpoint, checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import type { Measured } from "../ledger/InferenceLedger.ts"
import { DeliveredText, type Turn } from "./DeliveredText.ts"
import type { Indexed } from "./IndexedSet.ts"

/** A clock that started when the request was accepted; milliseconds, of no particular epoch. */
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

  /** Content on its way to the client, and the positions in it where another choice continues. */
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

  /** Another provider is tried: the usage that the one before reported is not usage of this delivery. */
  forgetReported(): void {
    this.reported = ReportedUsage.unreported
    this.#deltasAtLastOutputReport = 0
  }

  /** The outcome if the request ends in this way. */
  outcome(ending: Ending): Outcome {
    return {
      ending,
      reported: this.reported,
      deltas: this.text.deltas,
      deltasAtLastOutputReport: this.#deltasAtLastOutputReport
    }
  }

  /** The outcome with its charge and its times. */
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

  /** Whole milliseconds from acceptance to the first delta. */
  get ttftMillis(): number | undefined {
    return this.#firstDeltaAtMillis === undefined
      ? undefined
      : Math.round(this.#firstDeltaAtMillis - this.#clock.acceptedAtMillis)
  }

  get durationMillis(): number {
    return Math.round(this.#clock.nowMillis() - this.#clock.acceptedAtMillis)
  }
}
