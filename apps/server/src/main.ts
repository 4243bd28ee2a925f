/**
 * The server process: settings, layers, and what is told on the way.
 */
import { readFile } from "node:fs/promises"
import { setFlagsFromString } from "node:v8"
import { defaultTeardown } from "@effect/platform/Runtime"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { EmbeddedPostgres } from "@tollgate/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { applyCatalog } from "./ApplyCatalog.ts"
import { type Config, readConfig } from "./Config.ts"
import { startDemo } from "./demo/Demo.ts"
import { DEMO_KEY_ENV } from "./demo/DemoCatalog.ts"
import * as Live from "./Live.ts"
import * as Payments from "./Payments.ts"
import { StartFailed } from "./StartFailed.ts"
import * as Telemetry from "./Telemetry.ts"

// V8 learns that arrays inside fibers live long and puts them where only a full collection finds them, with the whole
// request behind each. They do not live long; a third of the collector's work goes with this.
setFlagsFromString("--no-allocation-site-pretenuring")

/** Keys of suppliers are asked for by the name the catalog gives them. */
const providerKeys = (config: Config) => (name: string) => {
  const value = process.env[name]
  if (value !== undefined && value !== "") return Redacted.make(value)
  return config.demo && name === DEMO_KEY_ENV ? Redacted.make("simulated") : undefined
}

const applyCatalogFile = (path: string) =>
  Effect.gen(function* () {
    // The parser quotes the file, line breaks and all.
    const unusable = (reason: string) =>
      new StartFailed({ message: `CATALOG_FILE ${path}: ${reason.replace(/\s+/g, " ")}` })
    const json = yield* Effect.tryPromise({
      try: async (): Promise<unknown> => JSON.parse(await readFile(path, "utf8")),
      catch: (error) => unusable(error instanceof Error ? error.message : String(error))
    })
    const terms = yield* Effect.mapError(parseCatalogFile(json), ({ issues }) => unusable(issues.join("; ")))
    yield* applyCatalog(terms, { actor: "server", reason: "CATALOG_FILE at start" })
  })

const serve = (config: Config) =>
  Effect.gen(function* () {
    if (config.CATALOG_FILE !== undefined) yield* applyCatalogFile(config.CATALOG_FILE)
    const announce = config.demo ? yield* startDemo(config) : undefined
    const { host, port } = yield* Effect.flatMap(Layer.build(Live.server(config)), (built) =>
      Effect.provide(GatewayServer, built)
    )
    const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
    yield* Effect.logInfo(`serving on ${baseUrl}`)
    if (announce !== undefined) yield* announce(baseUrl)
    yield* Effect.forkScoped(Payments.announce)
    // Without its database a node is of no use: better one that is started anew.
    return yield* Option.match(yield* Effect.serviceOption(EmbeddedPostgres), {
      onNone: () => Effect.never,
      onSome: ({ lost }) => Effect.mapError(lost, ({ message }) => new StartFailed({ message }))
    })
  })

const run = (config: Config) =>
  Effect.scoped(serve(config)).pipe(
    Effect.provide(Live.ports(config, providerKeys(config))),
    Effect.catchTag("StartFailed", ({ message }) => Effect.sync(() => fail([message]))),
    Effect.provide(Telemetry.layer(config))
  )

const fail = (lines: ReadonlyArray<string>): void => {
  for (const line of lines) console.error(`tollgate: ${line}`)
  process.exitCode = 1
}

// Effect's own handlers hear the first signal; without these a second one would end the process before it has settled
// what it serves.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})

Either.match(readConfig(process.env), {
  onLeft: fail,
  onRight: (config) =>
    NodeRuntime.runMain(run(config), {
      disablePrettyLogger: true,
      // Whatever a start that failed left open must not keep the process.
      teardown: (exit, onExit) => defaultTeardown(exit, (code) => onExit(process.exitCode === 1 ? 1 : code))
    })
})
