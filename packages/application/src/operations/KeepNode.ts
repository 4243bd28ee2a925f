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

/** How often each duty is done. */
export interface Rhythm {
  readonly heartbeatEvery: Duration.Duration
  readonly checkpointEvery: Duration.Duration
  readonly sweepEvery: Duration.Duration
}

const HEARTBEATS_BEFORE_DEATH = 3

/**
 * Often enough that a node which misses a beat or two is not taken for dead, and that what a dead one delivered since
 * its last checkpoint is never more than a few seconds' worth.
 */
export const rhythmFor = (deadAfter: Duration.Duration): Rhythm => {
  const often = Duration.unsafeDivide(deadAfter, HEARTBEATS_BEFORE_DEATH)
  return {
    heartbeatEvery: Duration.min(Duration.seconds(5), often),
    checkpointEvery: Duration.min(Duration.seconds(4), often),
    sweepEvery: Duration.min(Duration.seconds(5), often)
  }
}

/** Never ends; interrupt it to stop, then say goodbye with `Nodes.leave`. */
export const keepNode = ({ heartbeatEvery, checkpointEvery, sweepEvery }: Rhythm) =>
  Effect.gen(function* () {
    const nodes = yield* Nodes
    const holds = yield* OpenHolds
    const sweep = Effect.tap(holds.sweep, (swept) =>
      swept > 0 ? Effect.logWarning("settled the holds of dead nodes", { swept }) : Effect.void
    )
    return yield* Effect.all(
      [
        every(heartbeatEvery, "heartbeat", nodes.beat),
        every(checkpointEvery, "checkpoint", checkpointOpenRequests),
        every(sweepEvery, "sweep", sweep)
      ],
      { concurrency: "unbounded", discard: true }
    )
  })

const every = <R>(interval: Duration.Duration, duty: string, round: Effect.Effect<unknown, never, R>) =>
  round.pipe(
    Effect.catchAllCause((cause) => Effect.logError(`${duty} failed`, cause)),
    Effect.repeat(Schedule.spaced(interval))
  )
