/**
 * What a node does for as long as it lives: says so, saves what its requests have delivered, and settles what dead
 * nodes left behind.
 *
 * Each duty runs on its own, so that a slow one does not silence the heartbeat; a failing round is logged and the next
 * one tries again.
 *
 * Who is silent is dead only if it could have spoken. A node that could not beat itself for a while (the database was
 * away, or it was paused) therefore leaves the others alone until they had time to be heard again: after an outage all
 * of them look dead, with all that they are serving.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { checkpointOpenRequests } from "../inference/OpenRequests.ts"
import { OpenHolds } from "../ledger/OpenHolds.ts"
import { Nodes } from "../operations/Nodes.ts"
import { every } from "./BackgroundTask.ts"

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
export const nodeHeartbeat = (deadAfter: Duration.Duration) =>
  Effect.gen(function* () {
    const nodes = yield* Nodes
    const holds = yield* OpenHolds
    const { heartbeatEvery, checkpointEvery, sweepEvery } = rhythmFor(deadAfter)
    const pulse = new Pulse(deadAfter, heartbeatEvery, yield* Clock.currentTimeNanos)
    const beat = Effect.zipRight(
      nodes.beat,
      Effect.map(Clock.currentTimeNanos, (now) => pulse.beat(now))
    )
    const sweep = Effect.tap(holds.sweep, (swept) =>
      swept > 0 ? Effect.logWarning("settled the holds of dead nodes", { swept }) : Effect.void
    )
    const sweepIfSteady = Effect.flatMap(Clock.currentTimeNanos, (now) =>
      pulse.isSteady(now) ? Effect.asVoid(sweep) : Effect.void
    )
    return yield* Effect.all(
      [
        every(heartbeatEvery, "heartbeat failed", beat),
        every(checkpointEvery, "checkpoint failed", checkpointOpenRequests),
        every(sweepEvery, "sweep failed", sweepIfSteady)
      ],
      { concurrency: "unbounded", discard: true }
    )
  })

/** This node's own heartbeats: whether they came without a gap that would make others look dead. */
class Pulse {
  readonly #deadAfter: bigint
  readonly #gap: bigint
  #beatAt: bigint
  #steadySince: bigint

  constructor(deadAfter: Duration.Duration, heartbeatEvery: Duration.Duration, now: bigint) {
    this.#deadAfter = Duration.unsafeToNanos(deadAfter)
    this.#gap = this.#deadAfter - Duration.unsafeToNanos(heartbeatEvery)
    this.#beatAt = now
    this.#steadySince = now
  }

  beat(now: bigint): void {
    if (now - this.#beatAt >= this.#gap) this.#steadySince = now
    this.#beatAt = now
  }

  isSteady(now: bigint): boolean {
    return now - this.#beatAt < this.#gap && now - this.#steadySince >= this.#deadAfter
  }
}
