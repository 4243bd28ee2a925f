import { describe, expect, it } from "@effect/vitest"
import { imageLeaseReaper } from "@tollgate/application/background/ImageLeaseReaper"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import { Effect, Layer, Logger, TestClock } from "effect"

describe("image requests", () => {
  it.effect("are given up and forgotten again and again, whatever became of the round before", () =>
    Effect.gen(function* () {
      const rounds = { abandon: 0, forgetKeys: 0 }
      const round = (duty: keyof typeof rounds) =>
        Effect.suspend(() => (++rounds[duty] === 1 ? Effect.dieMessage("no database") : Effect.succeed(1)))
      const images = ImageRequests.of({
        begin: () => Effect.dieMessage("not asked for"),
        finish: () => Effect.dieMessage("not asked for"),
        abandon: round("abandon"),
        forgetKeys: round("forgetKeys")
      })
      const ports = Layer.merge(Layer.succeed(ImageRequests, images), Logger.remove(Logger.defaultLogger))
      yield* Effect.fork(Effect.provide(imageLeaseReaper("5 seconds", "1 minute"), ports))
      yield* TestClock.adjust("10 seconds")
      expect(rounds).toEqual({ abandon: 3, forgetKeys: 1 })
      yield* TestClock.adjust("2 minutes")
      expect(rounds.forgetKeys).toBe(3)
    })
  )
})
