/**
 * The heartbeats of this node: how often they come, and whether they came without a gap.
 *
 * A node judges other nodes only while its own heartbeats are steady. After a gap (the database was unreachable, or this
 * process was paused) it waits for `deadAfter` before it settles the holds of silent nodes. Otherwise all nodes would
 * look dead after an outage, together with the requests that they serve.
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
 * Short enough that a node which misses a heartbeat or two is not taken for dead, and that a dead node loses no more
 * than a few seconds of what it delivered after its last checkpoint.
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
  /** A gap between two heartbeats that can have made this node look dead. */
  readonly #maxGap: bigint
  #lastBeatAt: bigint
  #steadySince: bigint

  constructor(deadAfter: Duration.Duration, interval: Duration.Duration, startedAt: bigint) {
    this.#deadAfter = Duration.unsafeToNanos(deadAfter)
    this.#maxGap = this.#deadAfter - Duration.unsafeToNanos(interval)
    this.#lastBeatAt = startedAt
    this.#steadySince = startedAt
  }

  /** To be run after the database has stored a heartbeat. */
  readonly recordBeat: Effect.Effect<void> = Effect.map(Clock.currentTimeNanos, (now) => {
    if (now - this.#lastBeatAt >= this.#maxGap) this.#steadySince = now
    this.#lastBeatAt = now
  })

  /** The last heartbeat is recent, and there was no gap for `deadAfter`. */
  readonly isSteady: Effect.Effect<boolean> = Effect.map(
    Clock.currentTimeNanos,
    (now) => now - this.#lastBeatAt < this.#maxGap && now - this.#steadySince >= this.#deadAfter
  )
}
