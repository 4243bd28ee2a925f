/**
 * Holds that are not settled yet, and the ones whose node died.
 */

import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface OpenHold {
  readonly requestId: RequestId
  readonly email: string
  readonly model: string
  readonly hold: Hold
  readonly checkpoint: Checkpoint
  readonly heldAt: Date
  /** The node that owns it has not been heard of for too long. */
  readonly orphaned: boolean
}

export class OpenHolds extends Context.Tag("@tollgate/application/OpenHolds")<
  OpenHolds,
  {
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<OpenHold>>
    /** Settles the holds of dead nodes at their last checkpoints; how many. Safe on any number of nodes at once. */
    readonly sweep: Effect.Effect<number>
  }
>() {}
