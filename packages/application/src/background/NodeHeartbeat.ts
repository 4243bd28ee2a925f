/**
 * Computes the interval of this node's heartbeats, and records whether there was a gap between them.
 *
 * A node considers other nodes dead only while its own heartbeats are steady. A gap means that the database was
 * unreachable or that this process was paused. After a gap, this node waits for `deadAfter` before it settles the holds
 * of nodes without heartbeats. Without this wait, all nodes would look dead after an outage of the database, and
 * requests that they are still serving would be settled.
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
 * Returns the intervals of the heartbeat, the checkpoint and the sweep. They are so short that a node that misses one
 * heartbeat is not considered dead. If a node dies, the content delivered in its last seconds is not charged; older
 * content is charged.
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
  /** The shortest gap between two heartbeats, in nanoseconds, after which this node can look dead to other nodes. */
  readonly #maxGap: bigint
  #lastBeatAt: bigint
  #steadySince: bigint

  constructor(deadAfter: Duration.Duration, interval: Duration.Duration, startedAt: bigint) {
    this.#deadAfter = Duration.unsafeToNanos(deadAfter)
    this.#maxGap = this.#deadAfter - Duration.unsafeToNanos(interval)
    this.#lastBeatAt = startedAt
    this.#steadySince = startedAt
  }

  /** Records a heartbeat. The caller runs this effect after the database has stored the heartbeat. */
  readonly recordBeat: Effect.Effect<void> = Effect.map(Clock.currentTimeNanos, (now) => {
    if (now - this.#lastBeatAt >= this.#maxGap) this.#steadySince = now
    this.#lastBeatAt = now
  })

  /** Returns true if the last heartbeat is recent and the last gap ended at least `deadAfter` ago. */
  readonly isSteady: Effect.Effect<boolean> = Effect.map(
    Clock.currentTimeNanos,
    (now) => now - this.#lastBeatAt < this.#maxGap && now - this.#steadySince >= this.#deadAfter
  )
}
