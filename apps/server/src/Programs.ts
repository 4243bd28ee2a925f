/**
 * Defines the three programs that a server process can run: a server of one process, the primary process of several
 * workers, and a worker.
 */
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import { Nodes } from "@tollgate/application/operations/Nodes"
import { applyCatalogFile } from "@tollgate/composition/CatalogAtStart"
import { gatewayPorts, preparationPorts, primaryPorts } from "@tollgate/composition/GatewayPorts"
import { logPaymentProviders, realPayments, SimulatorUrl } from "@tollgate/composition/Payments"
import { fromUrl, PostgresProcess } from "@tollgate/composition/Postgres"
import { providerKeysIn } from "@tollgate/composition/ProviderKeys"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { startDemo } from "./development/Demo.ts"
import { DEMO_KEY_ENV } from "./development/DemoCatalog.ts"
import { embeddedPostgres, paymentSimulator } from "./development/LocalServices.ts"
import * as Live from "./Live.ts"
import * as MetricsServer from "./metrics/MetricsServer.ts"
import { nodeMetrics } from "./metrics/NodeMetrics.ts"
import * as Tracing from "./Tracing.ts"
import { report, sendMetricsOnRequest } from "./workers/OwnWorker.ts"
import type { Address } from "./workers/WorkerMessage.ts"
import * as WorkerPool from "./workers/WorkerPool.ts"
import { WorkersMetrics } from "./workers/WorkersMetrics.ts"

/** Runs a server that consists of this process only. */
export const onlyProcess = (config: ServerConfig) =>
  Effect.gen(function* () {
    const printBanner = yield* prepare(config)
    const address = yield* Effect.flatMap(Layer.build(Live.server(config)), (built) =>
      Effect.provide(GatewayServer, built)
    )
    yield* announce(address, printBanner)
    return yield* postgresLost
  }).pipe(
    Effect.scoped,
    Effect.provide(ports(config, { startsSimulator: true })),
    Effect.provide(Tracing.layer(config))
  )

/** Runs the primary process, which prepares the deployment and serves with `count` workers. */
export const primary = (config: ServerConfig, count: number) =>
  Effect.gen(function* () {
    const printBanner = yield* Effect.provide(prepare(config), preparationPorts(config))
    const metrics = new WorkersMetrics()
    yield* MetricsServer.serve(metrics, config)
    const simulatorUrl = yield* SimulatorUrl
    const environment = simulatorUrl === undefined ? {} : { PAYMENTS_SIM_PORT: new URL(simulatorUrl).port }
    const { address, lost } = yield* WorkerPool.start({ count, environment, metrics })
    yield* announce(address, printBanner)
    return yield* Effect.raceFirst(postgresLost, lost)
  }).pipe(Effect.scoped, Effect.provide(primaryPorts(config, externals(config, { startsSimulator: true }))))

/** Runs a worker. Its primary process has prepared the deployment, and runs the simulators. */
export const worker = (config: ServerConfig) =>
  Effect.gen(function* () {
    const metrics = Layer.effectDiscard(Effect.flatMap(nodeMetrics, sendMetricsOnRequest))
    const { host, port } = yield* Effect.flatMap(Layer.build(Live.server(config, metrics)), (built) =>
      Effect.provide(GatewayServer, built)
    )
    const { self: node } = yield* Nodes
    yield* report({ _tag: "Serving", address: { host, port }, node })
    return yield* postgresLost
  }).pipe(
    Effect.scoped,
    Effect.provide(ports(config, { startsSimulator: false })),
    Effect.provide(Tracing.layer(config))
  )

/** Applies CATALOG_FILE and starts the demo, if they are configured. Returns the function that prints the banner. */
const prepare = (config: ServerConfig) =>
  Effect.gen(function* () {
    if (config.CATALOG_FILE !== undefined) yield* applyCatalogFile(config.CATALOG_FILE)
    return config.demo ? yield* startDemo(config) : undefined
  })

/**
 * Logs the address of the server, prints the banner if there is one, and begins to log the state of the payment
 * providers.
 */
const announce = ({ host, port }: Address, printBanner: ((baseUrl: string) => Effect.Effect<void>) | undefined) =>
  Effect.gen(function* () {
    const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
    yield* Effect.logInfo(`serving on ${baseUrl}`)
    if (printBanner !== undefined) yield* printBanner(baseUrl)
    yield* Effect.forkScoped(logPaymentProviders)
  })

/**
 * Fails when the process of the embedded Postgres ends. The server then ends too, so that a process manager can restart
 * the server.
 */
const postgresLost = Effect.flatMap(PostgresProcess, ({ lost }) => lost)

interface Role {
  /** Whether this process starts the payment simulator if none runs. */
  readonly startsSimulator: boolean
}

const ports = (config: ServerConfig, role: Role) =>
  gatewayPorts(config, { providerKeys: providerKeys(config), ...externals(config, role) })

/** Builds the configured database and payment providers, or their replacements for development. */
const externals = (config: ServerConfig, { startsSimulator }: Role) => ({
  postgres: config.DATABASE_URL === undefined ? embeddedPostgres(config) : fromUrl(config.DATABASE_URL),
  payments:
    config.payments.simulatorPort === undefined
      ? realPayments(config.payments)
      : paymentSimulator(config, config.payments.simulatorPort, { starts: startsSimulator })
})

const providerKeys = ({ demo }: ServerConfig) =>
  providerKeysIn(process.env, demo ? { [DEMO_KEY_ENV]: "simulated" } : {})
