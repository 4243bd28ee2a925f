/** Runs the built servers and the command line of any release, in production mode, on one Postgres. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { eventually, freePort } from "../bench/Target.ts"
import { PRODUCTION_FLAGS } from "../bench/Tollgate.ts"
import { MODEL } from "./Load.ts"
import { PROMPT_TOKENS, TOKENS, UPSTREAM_MODEL } from "./Provider.ts"

export interface RunningServer {
  readonly port: number
  readonly drain: () => Promise<{ readonly code: number | null; readonly millis: number }>
  readonly kill: () => void
}

export class Deployment {
  readonly #directory: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #scope: Scope.CloseableScope
  readonly #servers: Array<RunningServer> = []

  static async start(directory: string, providerPort: number): Promise<Deployment> {
    mkdirSync(directory, { recursive: true })
    const scope = Effect.runSync(Scope.make())
    const { socketDir } = await Effect.runPromise(
      Scope.extend(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), scope)
    )
    return new Deployment(directory, `postgres://postgres@/postgres?host=${socketDir}`, providerPort, scope)
  }

  private constructor(directory: string, databaseUrl: string, providerPort: number, scope: Scope.CloseableScope) {
    this.#directory = directory
    this.#scope = scope
    const catalog = join(directory, "catalog.json")
    writeFileSync(catalog, JSON.stringify(catalogOf(providerPort)))
    this.#environment = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_ENV: "production",
      HOST: "127.0.0.1",
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(directory, "data"),
      CATALOG_FILE: catalog,
      KEY_PEPPER: randomBytes(36).toString("hex"),
      JWT_SECRET: randomBytes(36).toString("hex"),
      UPGRADE_PROVIDER_KEY: "upgrade"
    }
  }

  /** Runs a command of the release in this checkout, and returns the document that it prints. */
  async tollgate(checkout: string, ...args: ReadonlyArray<string>): Promise<unknown> {
    const program = join(checkout, "apps/cli/dist/main.js")
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, "--json"], {
      env: this.#environment
    })
    return JSON.parse(stdout)
  }

  /** Creates a customer with a balance, and returns its API key. */
  async aKey(checkout: string, email: string, ...limits: ReadonlyArray<string>): Promise<string> {
    await this.tollgate(checkout, "users", "create", email)
    const credit = ["--usd-micro", "1000000000", "--operation-id", email, "--reason", "upgrade"]
    await this.tollgate(checkout, "payg", "credit", "--user", email, ...credit)
    const key = await this.tollgate(checkout, "keys", "create", "--user", email, "--name", "upgrade", ...limits)
    return (key as { readonly secret: string }).secret
  }

  /** Counts all settlements, and the settlements that charge exactly the tokens of one response of the provider. */
  async charges(): Promise<{ readonly settled: number; readonly exact: number }> {
    const client = new Pg.Client({ connectionString: this.#environment.DATABASE_URL ?? "" })
    await client.connect()
    try {
      const { rows } = await client.query<{ settled: number; exact: number }>(
        `SELECT count(*)::int AS settled,
                count(*) FILTER (WHERE charged_input = ${PROMPT_TOKENS} AND charged_output = ${TOKENS})::int AS exact
         FROM settlement`
      )
      return rows[0] ?? { settled: 0, exact: 0 }
    } finally {
      await client.end()
    }
  }

  async server(checkout: string): Promise<RunningServer> {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const log = join(this.#directory, `server-${port}.log`)
    const child = spawn(process.execPath, [...PRODUCTION_FLAGS, join(checkout, "apps/server/dist/main.js")], {
      env: { ...this.#environment, PORT: String(port), METRICS_PORT: String(metricsPort) },
      stdio: ["ignore", "ignore", openSync(log, "w")]
    })
    const server: RunningServer = { port, drain: () => drained(child), kill: () => child.kill("SIGKILL") }
    this.#servers.push(server)
    await eventually("the server", 180_000, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok).catch(
      (error: unknown) => {
        throw new Error(`the server did not start; its log:\n${readFileSync(log, "utf8")}`, { cause: error })
      }
    )
    return server
  }

  async stop(): Promise<void> {
    for (const { kill } of this.#servers) kill()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}

const drained = async (child: ChildProcess) => {
  const startedAt = performance.now()
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  }
  return { code: child.exitCode, millis: performance.now() - startedAt }
}

const catalogOf = (port: number) => ({
  providers: [
    {
      name: "local",
      base_url: `http://127.0.0.1:${port}/v1`,
      api_key_env: "UPGRADE_PROVIDER_KEY",
      protocols: ["chat"]
    }
  ],
  models: [
    {
      public_name: MODEL,
      display_name: "Upgrade",
      author: "Upgrade",
      price_usd_micro_per_million_tokens: {
        input: 250_000,
        cache_read: 250_000,
        cache_write: 250_000,
        output: 2_000_000
      },
      routes: [{ provider: "local", upstream_model: UPSTREAM_MODEL }]
    }
  ]
})
