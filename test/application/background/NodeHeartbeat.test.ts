import { describe, expect, it } from "@effect/vitest"
import { nodeIntervals } from "@tollgate/application/background/NodeHeartbeat"
import { Clock, Duration, Effect, FastCheck, TestClock } from "effect"
import { property } from "../../support/property.ts"
import { startOneNode } from "./OneNode.ts"

/** A node whose database can be stopped. It records the times of its heartbeats and sweeps, in seconds since its start. */
const aNode = () => {
  const world = { databaseIsUp: true, beats: [] as Array<number>, sweeps: [] as Array<number> }
  const recordedIn = (times: Array<number>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      world.databaseIsUp ? Effect.sync(() => times.push(now / 1_000)) : Effect.dieMessage("no database")
    )
  const start = startOneNode({ beat: recordedIn(world.beats), sweep: Effect.as(recordedIn(world.sweeps), 0) })
  return { world, start }
}

describe("a node", () => {
  it.scoped("sends heartbeats from its start, and sweeps only after every live node had time for a heartbeat", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("60 seconds")
      expect(world.beats.slice(0, 4)).toEqual([0, 5, 10, 15])
      expect(world.sweeps[0]).toBe(30)
      expect(world.sweeps.length).toBeGreaterThan(5)
    })
  )

  it.scoped("does not sweep after a database outage until the other nodes had time for a heartbeat", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("62 seconds")
      world.databaseIsUp = false
      yield* TestClock.adjust("40 seconds")
      world.databaseIsUp = true
      world.sweeps.length = 0
      yield* TestClock.adjust("60 seconds")
      // The database works again at second 102. This node sends a heartbeat at 105, the other nodes at 110 at the latest.
      expect(world.beats.find((at) => at > 100)).toBe(105)
      expect(world.sweeps[0]).toBe(135)
    })
  )

  it.scoped("continues to sweep after an outage that is too short to make another node look dead", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("62 seconds")
      world.databaseIsUp = false
      yield* TestClock.adjust("10 seconds")
      world.databaseIsUp = true
      world.sweeps.length = 0
      yield* TestClock.adjust("10 seconds")
      expect(world.sweeps[0]).toBe(75)
    })
  )

  property(
    "sends at least two heartbeats within the time after which other nodes consider it dead",
    [FastCheck.integer({ min: 1, max: 3_600 })],
    (seconds) => {
      const { heartbeatInterval, checkpointInterval } = nodeIntervals(Duration.seconds(seconds))
      return (
        Duration.toMillis(heartbeatInterval) * 3 <= seconds * 1_000 + 1 &&
        Duration.toMillis(checkpointInterval) <= 5_000 &&
        Duration.toMillis(checkpointInterval) > 0
      )
    }
  )
})
