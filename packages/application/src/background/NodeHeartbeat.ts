/**
 * The heartbeats of this node: their interval, and whether they were sent without a gap.
 *
 * A node declares other nodes dead only while its own heartbeats are steady. After a gap (the database was unreachable,
 * or this process was paused) it waits for `deadAfter` before it settles the holds of silent nodes. Otherwise all nodes
 * would look dead after an outage, and the requests that they still serve would be settled.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface NodeIntervals {
  readonly heartbeatInterval: Duration.Duration
  readonly checkpointInterval: Duration.Duration
  readonly sweepInterval: Duration.Duration
}

const HEARTBEATS_BEFORE_DEATH = 3

/**
 * Derives intervals short enough that a node which misses one or two heartbeats is not considered dead, and that a dead
 * node loses at most a few seconds of delivered content after its last checkpoint.
 */
export const nodeIntervals = (deadAfter: Duration.Duration): NodeIntervals => {
  const longest = Duration.unsafeDivide(deadAfter, HEARTBEATS_BEFORE_DEATH)
  return {
    heartbeatInterval: Duration.min(Duration.seconds(5), longest),
    checkpointInterval: Duration.min(Duration.seconds(4), longest),
    sweepInterval: Duration.min(Duration.seconds(5), longest)
  }
}

export class OwnHeartbeat {
  readonly #deadAfter: bigint
  /** The shortest gap between two heartbeats (nanoseconds) after which this node may look dead. */
  readonly #maxGap: bigint
  #lastBeatAt: bigint
  #steadySince: bigint

  constructor(deadAfter: Duration.Duration, interval: Duration.Duration, startedAt: bigint) {
    this.#deadAfter = Duration.unsafeToNanos(deadAfter)
    this.#maxGap = this.#deadAfter - Duration.unsafeToNanos(interval)
    this.#lastBeatAt = startedAt
    this.#steadySince = startedAt
  }

  /** Records a heartbeat. Run it after the database has stored the heartbeat. */
  readonly recordBeat: Effect.Effect<void> = Effect.map(Clock.currentTimeNanos, (now) => {
    if (now - this.#lastBeatAt >= this.#maxGap) this.#steadySince = now
    this.#lastBeatAt = now
  })

  /** Returns true if the last heartbeat is recent and the last gap was at least `deadAfter` ago. */
  readonly isSteady: Effect.Effect<boolean> = Effect.map(
    Clock.currentTimeNanos,
    (now) => now - this.#lastBeatAt < this.#maxGap && now - this.#steadySince >= this.#deadAfter
  )
}
