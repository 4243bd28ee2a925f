/**
 * Lists the holds that are not settled yet, and settles the holds of dead nodes.
 */
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import type { CursorPage, Position } from "@tollgate/domain/validation/Cursor"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Heartbeat } from "../operations/Nodes.ts"

export interface OpenHold {
  readonly requestId: RequestId
  readonly email: string
  readonly model: string
  readonly hold: Hold
  readonly checkpoint: Checkpoint
  readonly heldAt: Date
  /**
   * True if the node of the request is dead: it has deregistered, its row is missing, or its last heartbeat is too old.
   */
  readonly orphaned: boolean
}

/** An open hold with the time at which it was created and the id of its request. */
export interface ListedHold extends OpenHold {
  readonly position: Position
}

export class OpenHolds extends Context.Tag("@tollgate/application/OpenHolds")<
  OpenHolds,
  {
    /** Returns a page of the open holds, oldest first. */
    readonly page: (page: CursorPage) => Effect.Effect<ReadonlyArray<ListedHold>>
    /** Returns all open holds, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<OpenHold>>
    /**
     * Settles the holds of dead nodes at their last checkpoints, and returns the number of settled holds. Skips a hold
     * if it, or an account or a limited key of its user, is locked. A node is dead if it has deregistered, if its row
     * is missing, or if its last heartbeat is too old by the database clock. Several sweeps may run concurrently.
     */
    readonly sweep: Effect.Effect<number>
    /**
     * Does the same as `sweep`, but only these nodes and deregistered nodes count as dead. A node that has sent a
     * heartbeat after the given heartbeat is alive.
     */
    readonly sweepSilent: (silent: ReadonlyArray<Heartbeat>) => Effect.Effect<number>
  }
>() {}
