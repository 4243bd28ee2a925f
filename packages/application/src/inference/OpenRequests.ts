/**
 * Keeps the set of requests that this node relays, and saves checkpoints of these requests.
 */
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InferenceLedger } from "../ledger/InferenceLedger.ts"
import type { Delivery } from "./Delivery.ts"
import { IndexedSet } from "./IndexedSet.ts"

export class OpenRequests extends Context.Tag("@tollgate/application/OpenRequests")<
  OpenRequests,
  IndexedSet<Delivery>
>() {}

export const layer: Layer.Layer<OpenRequests> = Layer.sync(OpenRequests, () => new IndexedSet<Delivery>())

/** Saves a checkpoint of each request in the set that has delivered at least one delta. */
export const checkpointOpenRequests: Effect.Effect<void, never, OpenRequests | InferenceLedger> = Effect.gen(
  function* () {
    const open = yield* OpenRequests
    const ledger = yield* InferenceLedger
    const checkpoints: Array<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }> = []
    open.each((delivery) => {
      if (delivery.text.deltas > 0) {
        checkpoints.push({ requestId: delivery.requestId, checkpoint: delivery.checkpoint })
      }
    })
    if (checkpoints.length > 0) yield* ledger.checkpoint(checkpoints)
  }
)
