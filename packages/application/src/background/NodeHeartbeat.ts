/**
 * Computes the intervals of a node's heartbeats, checkpoints and sweeps, and decides which other nodes are silent.
 *
 * With each of its own heartbeats, a node reads the heartbeats of the other nodes. A node is silent if its heartbeat
 * has not changed for `deadAfter`. Only the monotonic clock of this process measures this time, so a change of the
 * system time on any machine makes no node silent. The time is measured only while this node's own heartbeats are
 * stored in time. During a gap between these heartbeats, the other nodes may have been unable to store heartbeats too,
 * or this process may have been paused. Therefore the measurement begins again after a gap.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Heartbeat, NodeId } from "../operations/Nodes.ts"

export interface NodeIntervals {
  readonly heartbeatInterval: Duration.Duration
  readonly checkpointInterval: Duration.Duration
  readonly sweepInterval: Duration.Duration
}

const HEARTBEATS_BEFORE_DEATH = 6

/**
 * Returns the intervals of the heartbeat, the checkpoint and the sweep. A node is not considered dead if four of its
 * heartbeats in succession fail immediately. Fewer failures are tolerated if each heartbeat waits for its timeout. If a
 * node dies, the content that it delivered after its last checkpoint is not charged.
 */
export const nodeIntervals = (deadAfter: Duration.Duration): NodeIntervals => {
  const longest = Duration.unsafeDivide(deadAfter, HEARTBEATS_BEFORE_DEATH)
  return {
    heartbeatInterval: Duration.min(Duration.seconds(5), longest),
    checkpointInterval: Duration.min(Duration.seconds(4), longest),
    sweepInterval: Duration.min(Duration.seconds(5), longest)
  }
}

/** A heartbeat, and the time at which this process first read it, in nanoseconds of its monotonic clock. */
interface Known {
  readonly heartbeat: Heartbeat
  readonly since: bigint
}

export class HeartbeatWatch {
  readonly #deadAfter: bigint
  /** The longest gap between two heartbeats of this node, in nanoseconds, that does not restart the measurement. */
  readonly #maxGap: bigint
  #lastBeatAt: bigint
  #steadySince: bigint
  #known: ReadonlyMap<NodeId, Known> = new Map()

  constructor(deadAfter: Duration.Duration, startedAt: bigint) {
    this.#deadAfter = Duration.unsafeToNanos(deadAfter)
    this.#maxGap = this.#deadAfter / 2n
    this.#lastBeatAt = startedAt
    this.#steadySince = startedAt
  }

  /** Records a stored heartbeat of this node, and the heartbeats of the other nodes that were read with it. */
  readonly record = (others: ReadonlyArray<Heartbeat>): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeNanos, (now) => {
      if (now - this.#lastBeatAt > this.#maxGap) {
        this.#steadySince = now
        this.#known = new Map()
      }
      this.#lastBeatAt = now
      this.#known = new Map(
        others.map((heartbeat) => {
          const known = this.#known.get(heartbeat.node)
          return [
            heartbeat.node,
            known?.heartbeat.beatAt === heartbeat.beatAt ? known : { heartbeat, since: now }
          ] as const
        })
      )
    })

  /**
   * Returns the last heartbeats of the silent nodes. Returns none while this node cannot decide whether they are dead:
   * its own last heartbeat is late, or less than `deadAfter` has passed since its start or since the last gap between
   * its heartbeats.
   */
  readonly silent: Effect.Effect<Option.Option<ReadonlyArray<Heartbeat>>> = Effect.map(
    Clock.currentTimeNanos,
    (now) => {
      if (now - this.#lastBeatAt > this.#maxGap || now - this.#steadySince < this.#deadAfter) return Option.none()
      const silent = [...this.#known.values()].filter(({ since }) => now - since >= this.#deadAfter)
      return Option.some(silent.map(({ heartbeat }) => heartbeat))
    }
  )
}
