import { describe, expect, it } from "@effect/vitest"
import { nodeHeartbeat, rhythmFor } from "@tollgate/application/background/NodeHeartbeat"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import { Clock, Duration, Effect, FastCheck, Layer, Logger, TestClock } from "effect"
import { law } from "../../support/law.ts"

const idle = { waitingAdmissions: 0, unsettled: 0, transactions: 0, transactionMillis: 0 }

const DEAD_AFTER = Duration.seconds(30)

/** A node whose database can be taken away, and when it beat and swept: in seconds since it started. */
const aNode = () => {
  const world = { databaseIsThere: true, beats: [] as Array<number>, sweeps: [] as Array<number> }
  const noted = (times: Array<number>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      world.databaseIsThere ? Effect.sync(() => times.push(now / 1_000)) : Effect.dieMessage("no database")
    )
  const ports = Layer.mergeAll(
    Layer.succeed(Nodes, { self: "node" as NodeId, beat: noted(world.beats), leave: Effect.void }),
    Layer.succeed(OpenHolds, { list: Effect.succeed([]), sweep: Effect.as(noted(world.sweeps), 0) }),
    Layer.mock(InferenceLedger, { admit: () => {}, settle: () => {}, settleLater: () => {}, load: () => idle }),
    OpenRequests.layer,
    Logger.remove(Logger.defaultLogger)
  )
  return { world, start: Effect.fork(Effect.provide(nodeHeartbeat(DEAD_AFTER), ports)) }
}

describe("a node", () => {
  it.effect("beats from the start and sweeps once it has watched the others for long enough to tell", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("60 seconds")
      expect(world.beats.slice(0, 4)).toEqual([0, 5, 10, 15])
      expect(world.sweeps[0]).toBe(30)
      expect(world.sweeps.length).toBeGreaterThan(5)
    })
  )

  it.effect("takes nobody for dead because the database was away", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("62 seconds")
      world.databaseIsThere = false
      yield* TestClock.adjust("40 seconds")
      world.databaseIsThere = true
      world.sweeps.length = 0
      yield* TestClock.adjust("60 seconds")
      // It is back at 102, the node beats at 105, and so do the others until 110 at the latest.
      expect(world.beats.find((at) => at > 100)).toBe(105)
      expect(world.sweeps[0]).toBe(135)
    })
  )

  it.effect("goes on sweeping through a hiccup that is too short for anybody to look dead", () =>
    Effect.gen(function* () {
      const { world, start } = aNode()
      yield* start
      yield* TestClock.adjust("62 seconds")
      world.databaseIsThere = false
      yield* TestClock.adjust("10 seconds")
      world.databaseIsThere = true
      world.sweeps.length = 0
      yield* TestClock.adjust("10 seconds")
      expect(world.sweeps[0]).toBe(75)
    })
  )

  law("beats several times before it would be dead", [FastCheck.integer({ min: 1, max: 3_600 })], (seconds) => {
    const { heartbeatEvery, checkpointEvery } = rhythmFor(Duration.seconds(seconds))
    return (
      Duration.toMillis(heartbeatEvery) * 3 <= seconds * 1_000 + 1 &&
      Duration.toMillis(checkpointEvery) <= 5_000 &&
      Duration.toMillis(checkpointEvery) > 0
    )
  })
})
