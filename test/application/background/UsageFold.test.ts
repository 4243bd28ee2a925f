import { describe, expect, it } from "@effect/vitest"
import { usageFold } from "@tollgate/application/background/UsageFold"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import { Effect, Layer, Logger, TestClock } from "effect"

describe("usage", () => {
  it.effect("is folded every few seconds, whatever became of the round before", () =>
    Effect.gen(function* () {
      let rounds = 0
      const fold = Effect.suspend(() => (++rounds === 2 ? Effect.dieMessage("no database") : Effect.succeed(7)))
      const ports = Layer.merge(
        Layer.succeed(UsageRollUps, { fold, rebuild: Effect.dieMessage("not asked for") }),
        Logger.remove(Logger.defaultLogger)
      )
      yield* Effect.fork(Effect.provide(usageFold(), ports))
      yield* TestClock.adjust("1 second")
      expect(rounds).toBe(1)
      yield* TestClock.adjust("20 seconds")
      expect(rounds).toBe(5)
    })
  )
})
