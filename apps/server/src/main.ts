/**
 * Runs the server process: reads the configuration, builds the ports and the server, and logs the server's URL.
 */
import { setFlagsFromString } from "node:v8"
import { defaultTeardown } from "@effect/platform/Runtime"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import { applyCatalogFile } from "@tollgate/composition/CatalogAtStart"
import { gatewayPorts } from "@tollgate/composition/GatewayPorts"
import { logPaymentProviders, realPayments } from "@tollgate/composition/Payments"
import { fromUrl, PostgresProcess } from "@tollgate/composition/Postgres"
import { readServerConfig, type ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { startDemo } from "./development/Demo.ts"
import { DEMO_KEY_ENV } from "./development/DemoCatalog.ts"
import { embeddedPostgres, paymentSimulator } from "./development/LocalServices.ts"
import * as Live from "./Live.ts"
import * as Telemetry from "./Telemetry.ts"

// V8 would pretenure the arrays that fibers allocate: it would put these arrays into the old generation, where only a
// full garbage collection frees them and everything they reference. The arrays are short-lived, so this flag saves a
// third of the time for garbage collection.
setFlagsFromString("--no-allocation-site-pretenuring")

/** Returns a function that finds a provider's API key. Its argument is the name of an environment variable. */
const providerKeys = (config: ServerConfig) => (name: string) => {
  const value = process.env[name]
  if (value !== undefined && value !== "") return Redacted.make(value)
  return config.demo && name === DEMO_KEY_ENV ? Redacted.make("simulated") : undefined
}

/** Builds the ports, with the configured database and payment providers or their replacements for development. */
const ports = (config: ServerConfig) =>
  gatewayPorts(config, {
    providerKeys: providerKeys(config),
    postgres: config.DATABASE_URL === undefined ? embeddedPostgres(config) : fromUrl(config.DATABASE_URL),
    payments:
      config.payments.simulatorPort === undefined
        ? realPayments(config.payments)
        : paymentSimulator(config, config.payments.simulatorPort)
  })

const serve = (config: ServerConfig) =>
  Effect.gen(function* () {
    if (config.CATALOG_FILE !== undefined) yield* applyCatalogFile(config.CATALOG_FILE)
    const printBanner = config.demo ? yield* startDemo(config) : undefined
    const { host, port } = yield* Effect.flatMap(Layer.build(Live.server(config)), (built) =>
      Effect.provide(GatewayServer, built)
    )
    const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
    yield* Effect.logInfo(`serving on ${baseUrl}`)
    if (printBanner !== undefined) yield* printBanner(baseUrl)
    yield* Effect.forkScoped(logPaymentProviders)
    // If the embedded Postgres ends, this process ends too, so that a supervisor can restart both. A Postgres at
    // DATABASE_URL never ends the process.
    return yield* Effect.flatMap(PostgresProcess, ({ lost }) => lost)
  })

const run = (config: ServerConfig) =>
  Effect.scoped(serve(config)).pipe(
    Effect.provide(ports(config)),
    Effect.catchTag("StartFailed", ({ message }) => Effect.sync(() => fail([message]))),
    Effect.provide(Telemetry.layer(config))
  )

const fail = (lines: ReadonlyArray<string>): void => {
  for (const line of lines) console.error(`tollgate: ${line}`)
  process.exitCode = 1
}

// Effect handles the first signal only. Without these handlers, a second signal would end the process before the
// running requests are settled.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})

Either.match(readServerConfig(process.env), {
  onLeft: fail,
  onRight: (config) =>
    NodeRuntime.runMain(run(config), {
      disablePrettyLogger: true,
      // A failed start may leave sockets or timers open; they must not keep the process alive.
      teardown: (exit, onExit) => defaultTeardown(exit, (code) => onExit(process.exitCode === 1 ? 1 : code))
    })
})
