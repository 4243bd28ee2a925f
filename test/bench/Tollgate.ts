/** Starts the built server as in production: with a durable Postgres, API keys and balances. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import { canPin, MEASURED_CPU, pinned, SERVING_CPU, stop } from "./BenchProcess.ts"
import { MODEL, UPSTREAM_MODEL } from "./BenchRequest.ts"
import { family } from "./ProcessFigures.ts"
import { eventually, freePort, type Target } from "./Target.ts"

/** The checkout that this benchmark belongs to. */
export const THIS_CHECKOUT = resolve(import.meta.dirname, "../..")
const serverOf = (checkout: string): string => join(checkout, "apps/server/dist/main.js")
const cliOf = (checkout: string): string => join(checkout, "apps/cli/dist/main.js")

/** The same flags as in the Dockerfile and in docs/operations.md. */
export const PRODUCTION_FLAGS = ["--max-semi-space-size=64", "--v8-pool-size=1", "--heap-growing-percent=100"]

/** The default number of customers that send the requests. */
const CUSTOMERS = 4
/** The number of customers that are created at the same time. Each needs its own process of the command line. */
const CONCURRENT_COMMANDS = 4
const CREDIT_USD_MICRO = 1_000_000_000_000n

/**
 * The prices in micro-USD per million tokens. With these prices, every request of the benchmark costs a whole number of
 * micro-USD.
 */
export const PRICE = { input: 250_000n, output: 2_000_000n }

export interface TollgateTarget extends Target {
  /** Replaces the server by a new process on the same database. */
  readonly restarted: () => Promise<TollgateTarget>
  /**
   * Waits until every hold is settled, and returns the sum in micro-USD that all customers were charged since the
   * start.
   */
  readonly chargedUsdMicro: () => Promise<bigint>
  /** Runs the audit. Returns the error of the command, or an empty text if the ledger is consistent. */
  readonly audit: () => Promise<string>
  /** Starts another server on the same database: one process, or this number of workers. */
  readonly beside: (workers?: number) => Promise<Target>
}

export const isBuilt = (checkout = THIS_CHECKOUT): boolean =>
  existsSync(serverOf(checkout)) && existsSync(cliOf(checkout))

export interface TollgateOptions {
  readonly checkout?: string
  readonly name?: string
  /** The number of workers, which use the CPUs of this process. If undefined, one process uses the measured CPU. */
  readonly workers?: number
  /** The number of customers that send the requests. */
  readonly customers?: number
  /** Additional flags for Node.js. */
  readonly nodeFlags?: ReadonlyArray<string>
  /** Additional settings of the server. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts the server of a checkout with a separate Postgres. The files of both are in `directory`. */
export const startTollgate = async (
  upstreamPort: number,
  directory: string,
  {
    checkout = THIS_CHECKOUT,
    customers = CUSTOMERS,
    environment: more = {},
    name = "Tollgate",
    nodeFlags = [],
    workers
  }: TollgateOptions = {}
): Promise<TollgateTarget> => {
  mkdirSync(directory, { recursive: true })
  const scope = Effect.runSync(Scope.make())
  const closePostgres = () => Effect.runPromise(Scope.close(scope, Exit.void))
  // Postgres runs on the CPUs of this process. A benchmark that assigns CPUs excludes the measured CPU from them.
  const { socketDir } = await Effect.runPromise(
    Scope.extend(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), scope)
  )
  const catalog = join(directory, "catalog.json")
  writeFileSync(catalog, JSON.stringify(catalogOf(upstreamPort)))
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_ENV: "production",
    HOST: "127.0.0.1",
    DATABASE_URL: `postgres://postgres@/postgres?host=${socketDir}`,
    DATA_DIR: join(directory, "data"),
    CATALOG_FILE: catalog,
    KEY_PEPPER: randomBytes(36).toString("hex"),
    JWT_SECRET: randomBytes(36).toString("hex"),
    BENCH_UPSTREAM_KEY: "bench",
    DRAIN_DELAY_SECONDS: "0",
    ...more
  }
  const tollgate = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, [cliOf(checkout), ...args, "--json"], {
      env: environment
    })
    return JSON.parse(stdout)
  }

  const launch = async (port: number, workers?: number, oneCpu = MEASURED_CPU): Promise<ChildProcess> => {
    const cpu = workers === undefined ? oneCpu : undefined
    const log = join(directory, `server-${port}.log`)
    const [command, args] = pinned(cpu, process.execPath, [...PRODUCTION_FLAGS, ...nodeFlags, serverOf(checkout)])
    const ports = { PORT: String(port), METRICS_PORT: String(await freePort()) }
    const env = { ...environment, ...ports, ...(workers === undefined ? {} : { WORKERS: String(workers) }) }
    const child = spawn(command, args, { env, stdio: ["ignore", "ignore", openSync(log, "w")] })
    try {
      await eventually("the server", 60_000, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
      return child
    } catch (error) {
      await stop(child)
      throw new Error(`Tollgate did not start. Its log:\n${readFileSync(log, "utf8")}`, { cause: error })
    }
  }

  try {
    await tollgate("migrate")
    const port = await freePort()
    const first = await launch(port, workers)
    const emails = Array.from({ length: customers }, (_, i) => `bench-${i}@example.com`)
    const keys: Array<string> = []
    while (keys.length < customers) {
      const next = emails.slice(keys.length, keys.length + CONCURRENT_COMMANDS)
      keys.push(...(await Promise.all(next.map((email) => createCustomer(tollgate, email)))))
    }
    const balance = async (): Promise<bigint> => {
      let sum = 0n
      for (const email of emails) {
        const user = await tollgate("users", "show", email)
        sum += BigInt(member(user, "payg", "balance_usd_micro"))
      }
      return sum
    }
    const before = await balance()
    // The commands above use all the time of the CPU, so a Postgres that has only idle time would not respond to them.
    // Workers are not assigned to CPUs, and can leave no CPU idle.
    if (workers === undefined) useIdleTime(socketDir)
    const behind = (child: ChildProcess): TollgateTarget => ({
      name,
      port,
      keys,
      pids: family(child.pid ?? 0),
      stop: () => stop(child).then(closePostgres),
      restarted: () =>
        stop(child)
          .then(() => launch(port, workers))
          .then(behind),
      chargedUsdMicro: async () => {
        await eventually("the last settlements", 30_000, async () => {
          const held = await tollgate("holds", "list")
          return Array.isArray(held) && held.length === 0
        })
        return before - (await balance())
      },
      audit: () =>
        tollgate("audit").then(
          () => "",
          (error: unknown) => String(error)
        ),
      beside: async (workers) => {
        const port = await freePort()
        const other = await launch(port, workers, SERVING_CPU)
        const name = workers === undefined ? "another node" : `WORKERS=${workers}`
        return { name, port, keys, pids: family(other.pid ?? 0), stop: () => stop(other) }
      }
    })
    return behind(first)
  } catch (error) {
    await closePostgres()
    throw error
  }
}

/**
 * Gives the Postgres with this socket, and the connections that it will accept, only the time in which its CPU is
 * otherwise idle. Does nothing if the processes are not assigned to CPUs.
 *
 * In production, clients, model and database have their own CPUs. Here they share one, and a response would seem later
 * if the client or the model had to wait for a transaction. A lower priority is not enough, because Linux can let a
 * process of low priority finish its time slice of some milliseconds first.
 */
const useIdleTime = (socketDir: string): void => {
  const lock = readdirSync(socketDir).find((file) => file.endsWith(".lock"))
  if (lock === undefined) throw new Error(`no Postgres has a socket in ${socketDir}`)
  const postmaster = Number.parseInt(readFileSync(join(socketDir, lock), "latin1"), 10)
  for (const pid of canPin ? family(postmaster) : []) {
    const { status, stderr } = spawnSync("chrt", ["--idle", "--pid", "0", String(pid)], { encoding: "utf8" })
    // A worker of Postgres can end before it is reached.
    if (status !== 0 && pid === postmaster) throw new Error(`chrt failed: ${stderr}`)
  }
}

const createCustomer = async (
  tollgate: (...args: ReadonlyArray<string>) => Promise<unknown>,
  email: string
): Promise<string> => {
  await tollgate("users", "create", email)
  const amount = CREDIT_USD_MICRO.toString()
  await tollgate(
    "payg",
    "credit",
    "--user",
    email,
    "--usd-micro",
    amount,
    "--operation-id",
    email,
    "--reason",
    "benchmark"
  )
  return member(await tollgate("keys", "create", "--user", email, "--name", "benchmark"), "secret")
}

const member = (document: unknown, ...path: ReadonlyArray<string>): string => {
  const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document)
  if (typeof found !== "string") throw new Error(`no ${path.join(".")} in ${JSON.stringify(document)}`)
  return found
}

const catalogOf = (upstreamPort: number) => ({
  providers: [
    {
      name: "bench",
      base_url: `http://127.0.0.1:${upstreamPort}/v1`,
      api_key_env: "BENCH_UPSTREAM_KEY",
      protocols: ["chat"],
      max_concurrency: 8_192
    }
  ],
  models: [
    {
      public_name: MODEL,
      display_name: "Bench",
      author: "Bench",
      price_usd_micro_per_million_tokens: {
        input: Number(PRICE.input),
        cache_read: Number(PRICE.input),
        cache_write: Number(PRICE.input),
        output: Number(PRICE.output)
      },
      routes: [{ provider: "bench", upstream_model: UPSTREAM_MODEL }]
    }
  ]
})
