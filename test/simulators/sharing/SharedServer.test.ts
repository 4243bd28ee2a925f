import { createServer } from "node:http"
import { it } from "@effect/vitest"
import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import { startOrJoin } from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Schedule, Scope } from "effect"
import { describe, expect } from "vitest"

/** Finds a port that no program uses. */
const aFreePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

describe("the shared simulated upstream", () => {
  it.scopedLive("is started by the first server and joined by the second", () =>
    Effect.gen(function* () {
      const port = yield* aFreePort
      const first = yield* startOrJoin({ port })
      const second = yield* startOrJoin({ port })
      expect(first.baseUrl).toContain(`:${port}/`)
      expect(second).toEqual(first)
    }).pipe(Effect.provide(GptTokenCounter.layer))
  )

  it.scopedLive("is started again by the second server when the first server ends", () =>
    Effect.gen(function* () {
      const port = yield* aFreePort
      const firstServer = yield* Scope.make()
      const { baseUrl } = yield* Scope.extend(startOrJoin({ port }), firstServer)
      yield* startOrJoin({ port })
      yield* startOrJoin({ port })
      yield* Scope.close(firstServer, Exit.void)
      const response = yield* Effect.tryPromise(() => fetch(`${baseUrl}/chat/completions`)).pipe(
        Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 100 })
      )
      expect(response.status).toBe(405)
    }).pipe(Effect.provide(GptTokenCounter.layer))
  )

  it.scopedLive("uses a free port when another program uses its port", () =>
    Effect.gen(function* () {
      const port = yield* aFreePort
      const otherServer = createServer((_, response) => response.end("no simulation"))
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void otherServer.listen(port, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => otherServer.close())
      )
      const { baseUrl } = yield* startOrJoin({ port })
      expect(baseUrl).not.toContain(`:${port}/`)
    }).pipe(Effect.provide(GptTokenCounter.layer))
  )
})
