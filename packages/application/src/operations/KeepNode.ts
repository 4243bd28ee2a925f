/**
 * What a node does for as long as it lives: says so, saves what its requests have delivered, and settles what dead
 * nodes left behind.
 *
 * Each duty runs on its own, so that a slow one does not silence the heartbeat; a failing round is logged and the next
 * one tries again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { checkpointOpenRequests } from "../inference/OpenRequests.ts"
import { Nodes } from "../ports/Nodes.ts"
import { OpenHolds } from "../ports/OpenHolds.ts"

export const HEARTBEAT_EVERY = Duration.seconds(5)
export const CHECKPOINT_EVERY = Duration.seconds(4)
export const SWEEP_EVERY = Duration.seconds(5)

/** Never ends; interrupt it to stop, then say goodbye with `Nodes.leave`. */
export const keepNode = Effect.gen(function* () {
  const nodes = yield* Nodes
  const holds = yield* OpenHolds
  const sweep = Effect.tap(holds.sweep, (swept) =>
    swept > 0 ? Effect.logWarning("settled the holds of dead nodes", { swept }) : Effect.void
  )
  return yield* Effect.all(
    [
      every(HEARTBEAT_EVERY, "heartbeat", nodes.beat),
      every(CHECKPOINT_EVERY, "checkpoint", checkpointOpenRequests),
      every(SWEEP_EVERY, "sweep", sweep)
    ],
    { concurrency: "unbounded", discard: true }
  )
})

const every = <R>(interval: Duration.Duration, duty: string, round: Effect.Effect<unknown, never, R>) =>
  round.pipe(
    Effect.catchAllCause((cause) => Effect.logError(`${duty} failed`, cause)),
    Effect.repeat(Schedule.spaced(interval))
  )
