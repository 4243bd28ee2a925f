import { describe, expect, it } from "@effect/vitest"
import { backgroundTasks } from "@tollgate/application/background/BackgroundTasks"
import { TaskRunCounters, TaskRuns } from "@tollgate/application/background/TaskRuns"
import { Effect, TestClock } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { TopUpFixture } from "../topup/TopUpFixture.ts"
import { DEAD_AFTER, startOneNode } from "./OneNode.ts"

/** Counts the executions of a round. Execution number `failing`, counted from 1, fails. */
const aRound = (failing = 0) => {
  const count = { rounds: 0 }
  const round = Effect.suspend(() =>
    ++count.rounds === failing ? Effect.dieMessage("no database") : Effect.succeed(1)
  )
  return { count, round }
}

describe("the background tasks", () => {
  it.effect("are thirteen tasks with different texts for a failure", () =>
    Effect.gen(function* () {
      const tasks = yield* backgroundTasks(DEAD_AFTER)
      expect(tasks.map(({ name }) => name)).toEqual([
        "node heartbeat",
        "checkpoint of open requests",
        "sweep of dead nodes' holds",
        "image lease reaper",
        "idempotency key expiry",
        "top-up refresh",
        "usage fold",
        "uses of API keys",
        "webhook delivery",
        "balance watch",
        "webhook backlog",
        "webhook retention",
        "rewrite of API keys"
      ])
      expect(new Set(tasks.map(({ failure }) => failure)).size).toBe(tasks.length)
    })
  )

  it.scoped("continue while another task fails or hangs", () =>
    Effect.gen(function* () {
      const beat = aRound()
      const abandon = aRound()
      const fold = aRound()
      yield* startOneNode({
        beat: Effect.as(beat.round, []),
        sweep: () => Effect.never,
        abandon: Effect.zipRight(abandon.round, Effect.dieMessage("no database")),
        deleteOldKeys: Effect.never,
        fold: fold.round
      })
      yield* TestClock.adjust("60 seconds")
      expect([beat, abandon, fold].map(({ count }) => count.rounds)).toEqual([13, 13, 13])
    })
  )

  it.scoped("abandon image requests with expired leases every 5 seconds", () =>
    Effect.gen(function* () {
      const { count, round } = aRound(1)
      yield* startOneNode({ abandon: round })
      yield* TestClock.adjust("10 seconds")
      expect(count.rounds).toBe(3)
    })
  )

  it.scoped("record each round and the time of the last success", () =>
    Effect.gen(function* () {
      const { round } = aRound(3)
      const runs = new TaskRunCounters()
      yield* Effect.provideService(startOneNode({ fold: round }), TaskRuns, runs)
      yield* TestClock.adjust("10 seconds")
      const fold = runs.all.find(({ task }) => task === "usage fold")
      expect(fold).toEqual({
        task: "usage fold",
        intervalMillis: 5_000,
        succeeded: 2,
        failed: 1,
        lastSuccessMillis: 5_000
      })
    })
  )

  it.scoped("delete expired idempotency keys every hour", () =>
    Effect.gen(function* () {
      const { count, round } = aRound(1)
      yield* startOneNode({ deleteOldKeys: round }, { tasks: ({ name }) => name === "idempotency key expiry" })
      yield* TestClock.adjust("10 seconds")
      expect(count.rounds).toBe(1)
      yield* TestClock.adjust("2 hours")
      expect(count.rounds).toBe(3)
    })
  )

  it.scoped("add settled usage to the usage sums every 5 seconds", () =>
    Effect.gen(function* () {
      const { count, round } = aRound(2)
      yield* startOneNode({ fold: round })
      yield* TestClock.adjust("1 second")
      expect(count.rounds).toBe(1)
      yield* TestClock.adjust("20 seconds")
      expect(count.rounds).toBe(5)
    })
  )

  it.scoped("refresh due top-ups every 30 seconds", () =>
    Effect.gen(function* () {
      const fixture = new TopUpFixture()
      // The first round fails.
      fixture.stale = undefined as never
      yield* startOneNode({}, { fixture })
      yield* TestClock.adjust("1 seconds")
      fixture.stale = []
      fixture.due.push([fixture.store(anOrder())])
      yield* TestClock.adjust("28 seconds")
      expect(fixture.count("refresh")).toBe(0)
      yield* TestClock.adjust("1 seconds")
      expect(fixture.count("refresh")).toBe(1)
    })
  )
})
