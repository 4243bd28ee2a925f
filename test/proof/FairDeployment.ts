/**
 * Starts the built server for the proof of fair shares: with a durable Postgres, customers, two resellers, and a
 * payment provider that never responds. One model has a healthy provider; the provider of the other model never
 * responds.
 *
 * The server trusts the proxy 127.0.0.1, so the clients of the proof can have different IP addresses.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import { stop } from "../bench/BenchProcess.ts"
import { MODEL, UPSTREAM_MODEL } from "../bench/BenchRequest.ts"
import { eventually, freePort } from "../bench/Target.ts"
import { PRODUCTION_FLAGS, THIS_CHECKOUT } from "../bench/Tollgate.ts"
import { HANGING_MODEL } from "./FairAttacks.ts"

const SERVER = join(THIS_CHECKOUT, "apps/server/dist/main.js")
const CLI = join(THIS_CHECKOUT, "apps/cli/dist/main.js")
const PASSWORD = "correct horse battery"

export interface ResellerAccess {
  readonly email: string
  readonly password: string
  readonly token: string
  readonly customerEmail: string
  readonly tierId: string
}

export interface FairDeployment {
  readonly port: number
  /** The key of a customer whose chats are measured. */
  readonly key: string
  /** The key of a customer without any balance. */
  readonly poorKey: string
  /** The key of a customer that sends requests to the hanging provider. */
  readonly otherKey: string
  readonly attacker: ResellerAccess
  readonly otherReseller: ResellerAccess
  readonly stop: () => Promise<void>
}

export const startFairDeployment = async (
  upstreamPort: number,
  hangingPort: number,
  directory: string
): Promise<FairDeployment> => {
  mkdirSync(directory, { recursive: true })
  const scope = Effect.runSync(Scope.make())
  const { socketDir } = await Effect.runPromise(
    Scope.extend(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), scope)
  )
  const catalog = join(directory, "catalog.json")
  writeFileSync(catalog, JSON.stringify(catalogOf(upstreamPort, hangingPort)))
  const port = await freePort()
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_ENV: "test",
    HOST: "127.0.0.1",
    PORT: String(port),
    METRICS_PORT: String(await freePort()),
    DATABASE_URL: `postgres://postgres@/postgres?host=${socketDir}`,
    DATA_DIR: join(directory, "data"),
    CATALOG_FILE: catalog,
    KEY_PEPPER: randomBytes(36).toString("hex"),
    JWT_SECRET: randomBytes(36).toString("hex"),
    TRUSTED_PROXIES: "127.0.0.1",
    PROOF_KEY: "proof",
    MIDTRANS_BASE_URL: `http://127.0.0.1:${hangingPort}`,
    MIDTRANS_SERVER_KEY: "proof"
  }
  const tollgate = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args, "--json"], { env: environment })
    return JSON.parse(stdout)
  }
  let server: ChildProcess | undefined
  const stopAll = async () => {
    if (server !== undefined) await stop(server)
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  try {
    await tollgate("migrate")
    const log = join(directory, "server.log")
    server = spawn(process.execPath, [...PRODUCTION_FLAGS, SERVER], {
      env: environment,
      stdio: ["ignore", "ignore", openSync(log, "w")]
    })
    await eventually("the server", 60_000, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok).catch(
      (cause) => {
        throw new Error(`the server did not start. Its log:\n${readFileSync(log, "utf8")}`, { cause })
      }
    )
    const programme = new ProgrammeSetup(port, tollgate)
    return {
      port,
      key: await programme.customer("measured@example.com", "1000000000"),
      poorKey: await programme.customer("poor@example.com", undefined),
      otherKey: await programme.customer("other@example.com", "1000000000"),
      attacker: await programme.reseller("attacker@example.com", "198.51.100.1"),
      otherReseller: await programme.reseller("other-reseller@example.com", "198.51.100.2"),
      stop: stopAll
    }
  } catch (error) {
    await stopAll()
    throw error
  }
}

type Tollgate = (...args: ReadonlyArray<string>) => Promise<unknown>

/** Creates customers with the command line, and resellers with the API and the command line. */
class ProgrammeSetup {
  readonly #url: string
  readonly #tollgate: Tollgate

  constructor(port: number, tollgate: Tollgate) {
    this.#url = `http://127.0.0.1:${port}/api/reseller`
    this.#tollgate = tollgate
  }

  async customer(email: string, usdMicro: string | undefined): Promise<string> {
    await this.#tollgate("users", "create", email)
    if (usdMicro !== undefined) {
      const credit = ["--user", email, "--usd-micro", usdMicro, "--operation-id", email, "--reason", "proof"]
      await this.#tollgate("payg", "credit", ...credit)
    }
    return textIn(await this.#tollgate("keys", "create", "--user", email, "--name", "proof"), "secret")
  }

  async reseller(email: string, address: string): Promise<ResellerAccess> {
    const from = { "x-forwarded-for": address }
    const account = { email, password: PASSWORD, name: "Toko", wa_number: "628123456789" }
    await this.#post("/auth/signup", account, from)
    await this.#tollgate("resellers", "approve", email, "--reason", "proof")
    const quota = ["--reseller", email, "--usd-micro", "100000000000", "--operation-id", email, "--reason", "proof"]
    await this.#tollgate("quota", "adjust", ...quota)
    const token = textIn(await this.#post("/auth/login", { email, password: PASSWORD }, from), "token")
    const authorization = { authorization: `Bearer ${token}` }
    const customerEmail = `customer-of-${email}`
    await this.#post("/customers", { email: customerEmail }, authorization)
    const tiers = (await (await fetch(`${this.#url}/tiers`, { headers: authorization })).json()) as {
      readonly tiers: ReadonlyArray<{ readonly plan_tier_id: string }>
    }
    return { email, password: PASSWORD, token, customerEmail, tierId: tiers.tiers[0]?.plan_tier_id ?? "" }
  }

  async #post(path: string, body: object, headers: Readonly<Record<string, string>>): Promise<unknown> {
    const response = await fetch(this.#url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body)
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
}

const textIn = (document: unknown, member: string): string => {
  const found = (document as Readonly<Record<string, unknown>>)[member]
  if (typeof found !== "string") throw new Error(`no ${member} in ${JSON.stringify(document)}`)
  return found
}

const PRICES = { input: 250_000, cache_read: 250_000, cache_write: 250_000, output: 2_000_000 }

const catalogOf = (upstreamPort: number, hangingPort: number) => ({
  providers: [
    { name: "healthy", port: upstreamPort },
    { name: "hanging", port: hangingPort }
  ].map(({ name, port }) => ({
    name,
    base_url: `http://127.0.0.1:${port}/v1`,
    api_key_env: "PROOF_KEY",
    protocols: ["chat"]
  })),
  models: [
    { public_name: MODEL, provider: "healthy", tiers: [{ tier_usd_cents: 1, granted_tokens: 1_000 }] },
    { public_name: HANGING_MODEL, provider: "hanging", tiers: [] }
  ].map(({ public_name, provider, tiers }) => ({
    public_name,
    display_name: public_name,
    author: "Proof",
    price_usd_micro_per_million_tokens: PRICES,
    routes: [{ provider, upstream_model: UPSTREAM_MODEL }],
    tiers
  }))
})
