import { describe, expect, it } from "@effect/vitest"
import { nodeIntervals } from "@tollgate/application/background/NodeHeartbeat"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { Clock, Duration, Effect, FastCheck, TestClock } from "effect"
import { property } from "../../support/property.ts"
import { startOneNode } from "./OneNode.ts"

/** `world` contains the times of the node's heartbeats and sweeps, in seconds since its start. */
const aNode = () => {
  const world = {
    databaseIsUp: true,
    beats: [] as Array<number>,
    sweeps: [] as Array<{ readonly at: number; readonly silent: ReadonlyArray<string> }>,
    /** Returns the last heartbeat of each other node. */
    others: (_now: number): Readonly<Record<string, string | null>> => ({})
  }
  const inDatabase = <A>(work: (now: number) => A) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      world.databaseIsUp ? Effect.sync(() => work(now / 1_000)) : Effect.dieMessage("no database")
    )
  const start = startOneNode({
    beat: inDatabase((now) => {
      world.beats.push(now)
      return Object.entries(world.others(now)).map(([node, beatAt]) => ({ node: node as NodeId, beatAt }))
    }),
    sweep: (silent) =>
      inDatabase((at) => {
        world.sweeps.push({ at, silent: silent.map(({ node }) => node) })
        return 0
      })
  })
  const firstSweepOf = (node: string) => world.sweeps.find(({ silent }) => silent.includes(node))?.at
  return { world, start, firstSweepOf }
}

/** Returns the last heartbeat of a node that sends one every 5 seconds until `death`. */
const beatUntil = (death: number) => (now: number) => `${Math.min(Math.floor(now / 5), Math.floor(death / 5))}`

describe("a node", () => {
  it.scoped("sends a heartbeat every 5 seconds from its start", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("15 seconds")
      expect(world.beats).toEqual([0, 5, 10, 15])
    })
  )

  it.scoped("begins to sweep after 30 seconds", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("60 seconds")
      expect(world.sweeps[0]).toEqual({ at: 30, silent: [] })
      expect(world.sweeps.length).toBeGreaterThan(5)
    })
  )

  it.scoped("sweeps the holds of a node whose heartbeat stays unchanged", () =>
    Effect.gen(function* () {
      const { world, start, firstSweepOf } = aNode()
      const [alive, dead] = [beatUntil(1_000), beatUntil(42)]
      world.others = (now) => ({ alive: alive(now), dead: dead(now), unknown: now < 42 ? `${now}` : null })
      yield* start
      yield* TestClock.adjust("120 seconds")
      expect([firstSweepOf("alive"), firstSweepOf("dead"), firstSweepOf("unknown")]).toEqual([undefined, 70, 75])
    })
  )

  it.scoped("sweeps no hold of a live node when the database's clock jumps", () =>
    Effect.gen(function* () {
      const { world, start, firstSweepOf } = aNode()
      const dead = beatUntil(0)
      // The clock jumps by an hour after 40 seconds, and back after 80 seconds.
      world.others = (now) => ({
        alive: `${(now > 40 && now < 80 ? 3_600 : 0) + Math.floor(now / 5) * 5}`,
        dead: dead(now)
      })
      yield* start
      yield* TestClock.adjust("120 seconds")
      expect(firstSweepOf("alive")).toBeUndefined()
      expect(firstSweepOf("dead")).toBe(30)
    })
  )

  it.scoped("sweeps 30 seconds after the first heartbeat that follows an outage", () =>
    Effect.gen(function* () {
      const { world, start, firstSweepOf } = aNode()
      // The other node sends its next heartbeat when the database has worked again for 20 seconds.
      world.others = (now) => ({ other: now < 122 ? "before" : `${now}` })
      yield* start
      yield* TestClock.adjust("29 seconds")
      world.databaseIsUp = false
      yield* TestClock.adjust("73 seconds")
      world.databaseIsUp = true
      world.sweeps.length = 0
      yield* TestClock.adjust("60 seconds")
      // The database works again at second 102. This node sends a heartbeat at 105.
      expect(world.beats.find((at) => at > 100)).toBe(105)
      expect(world.sweeps[0]?.at).toBe(135)
      expect(firstSweepOf("other")).toBeUndefined()
    })
  )

  it.scoped("continues to sweep after an outage of 10 seconds", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("62 seconds")
      world.databaseIsUp = false
      yield* TestClock.adjust("10 seconds")
      world.databaseIsUp = true
      world.sweeps.length = 0
      yield* TestClock.adjust("10 seconds")
      expect(world.sweeps[0]?.at).toBe(75)
    })
  )

  const deadAfterSeconds = FastCheck.integer({ min: 1, max: 3_600 })
  property("has time for six heartbeats before it counts as dead", [deadAfterSeconds], (seconds) => {
    const { heartbeatInterval } = nodeIntervals(Duration.seconds(seconds))
    return Duration.toMillis(heartbeatInterval) * 6 <= seconds * 1_000 + 1
  })

  property("stores checkpoints at least every 5 seconds", [deadAfterSeconds], (seconds) => {
    const { checkpointInterval } = nodeIntervals(Duration.seconds(seconds))
    return Duration.toMillis(checkpointInterval) <= 5_000 && Duration.toMillis(checkpointInterval) > 0
  })
})
