/**
 * Runs the server: reads the configuration, and serves in this process. With WORKERS above 1, this process becomes the
 * primary process: it prepares the deployment and starts the workers, which run this file too.
 */
import { availableParallelism } from "node:os"
import { setFlagsFromString } from "node:v8"
import { defaultTeardown } from "@effect/platform/Runtime"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { readServerConfig, type ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Programs from "./Programs.ts"
import * as Telemetry from "./Telemetry.ts"
import { drainWithoutPrimary, ownNumber, report } from "./workers/OwnWorker.ts"

// V8 would pretenure the arrays that fibers allocate: it would put these arrays into the old generation, where only a
// full garbage collection frees them and everything they reference. The arrays are short-lived, so this flag saves a
// third of the time for garbage collection.
setFlagsFromString("--no-allocation-site-pretenuring")

const fail = (lines: ReadonlyArray<string>): void => {
  for (const line of lines) console.error(`tollgate: ${line}`)
  process.exitCode = 1
}

const program = (config: ServerConfig) => {
  const count = config.WORKERS === "auto" ? availableParallelism() : config.WORKERS
  return (count === 1 ? Programs.onlyProcess(config) : Programs.primary(config, count)).pipe(
    Effect.catchTag("StartFailed", ({ message }) => Effect.sync(() => fail([message]))),
    Effect.provide(Telemetry.layer(config))
  )
}

const worker = (config: ServerConfig, number: string) => {
  drainWithoutPrimary()
  return Programs.worker(config).pipe(
    // The primary process prints the reason once for all workers.
    Effect.catchTag("StartFailed", ({ message }) =>
      Effect.zipRight(
        report({ _tag: "StartFailed", message }),
        Effect.sync(() => fail([]))
      )
    ),
    Effect.provide(Telemetry.layer(config, { worker: Number(number) }))
  )
}

// Effect handles only the first signal. Without these handlers, a second signal would end the process before the
// running requests are settled.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})

Either.match(readServerConfig(process.env), {
  onLeft: fail,
  onRight: (config) =>
    NodeRuntime.runMain(ownNumber === undefined ? program(config) : worker(config, ownNumber), {
      disablePrettyLogger: true,
      // A failed start may leave sockets or timers open; they must not keep the process alive.
      teardown: (exit, onExit) => defaultTeardown(exit, (code) => onExit(process.exitCode === 1 ? 1 : code))
    })
})
