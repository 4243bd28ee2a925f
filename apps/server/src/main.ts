/**
 * The server process: reads the configuration, builds the ports and the server, and logs its address.
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

// V8 learns that arrays inside fibers live long and allocates them where only a full collection finds them, with the
// whole request behind each. They do not live long; this flag saves a third of the collector's work.
setFlagsFromString("--no-allocation-site-pretenuring")

/** The catalog names the environment variable that holds the key of a provider. */
const providerKeys = (config: ServerConfig) => (name: string) => {
  const value = process.env[name]
  if (value !== undefined && value !== "") return Redacted.make(value)
  return config.demo && name === DEMO_KEY_ENV ? Redacted.make("simulated") : undefined
}

/** The database and the payments of the environment, or those of a development machine. */
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
    // A node cannot serve without its database: the process ends, so that a supervisor can restart it.
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

// Effect handles the first signal only. Without these handlers a second signal would end the process before its
// requests are settled.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})

Either.match(readServerConfig(process.env), {
  onLeft: fail,
  onRight: (config) =>
    NodeRuntime.runMain(run(config), {
      disablePrettyLogger: true,
      // Handles that a failed start left open must not keep the process alive.
      teardown: (exit, onExit) => defaultTeardown(exit, (code) => onExit(process.exitCode === 1 ? 1 : code))
    })
})
