/**
 * The running facts of one request: what its client received, and what its supplier reported.
 *
 * Written by the relay while bytes pass, read when a checkpoint is taken and when the request is settled.
 */

import type { Ending, Outcome } from "@tollgate/domain/inference/Charge"
import { type Checkpoint, checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import { DeliveredText, type Turn } from "./DeliveredText.ts"
import type { Member } from "./IndexedSet.ts"

/** A clock that started when the request was accepted; milliseconds, of no particular epoch. */
export interface RequestClock {
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
}

export class Delivery implements Member {
  place = -1
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

  /** Content on its way to the client, and where in it another choice goes on. */
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

  /** Another supplier is asked: what the one before said it used is nothing that this one delivers. */
  forgetReported(): void {
    this.reported = ReportedUsage.unreported
    this.#deltasAtLastOutputReport = 0
  }

  /** What became of the request when it ends so. */
  outcome(ending: Ending): Outcome {
    return {
      ending,
      reported: this.reported,
      deltas: this.text.deltas,
      deltasAtLastOutputReport: this.#deltasAtLastOutputReport
    }
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
