/**
 * The requests this node is serving right now: what a checkpoint covers.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InferenceLedger } from "../ports/InferenceLedger.ts"
import type { Delivery } from "./Delivery.ts"

export class OpenRequests extends Context.Tag("@tollgate/application/OpenRequests")<OpenRequests, Set<Delivery>>() {}

export const layer: Layer.Layer<OpenRequests> = Layer.sync(OpenRequests, () => new Set<Delivery>())

/** Saves what every running request has delivered so far; requests that delivered nothing have nothing to save. */
export const checkpointOpenRequests: Effect.Effect<void, never, OpenRequests | InferenceLedger> = Effect.gen(
  function* () {
    const open = yield* OpenRequests
    const ledger = yield* InferenceLedger
    const checkpoints = [...open]
      .filter((delivery) => delivery.text.deltas > 0)
      .map((delivery) => ({ requestId: delivery.requestId, checkpoint: delivery.checkpoint }))
    if (checkpoints.length > 0) yield* ledger.checkpoint(checkpoints)
  }
)
