/**
 * Starts two built gateways on one database. They do not run in production mode, because a server in production refuses
 * simulated payments.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { stop } from "../bench/BenchProcess.ts"
import { freePort } from "../bench/Target.ts"
import { PRODUCTION_FLAGS, THIS_CHECKOUT } from "../bench/Tollgate.ts"
import { eventually } from "./ActiveTime.ts"
import { PRICE_USD_MICRO } from "./Charges.ts"

const SERVER = join(THIS_CHECKOUT, "apps/server/dist/main.js")
const CLI = join(THIS_CHECKOUT, "apps/cli/dist/main.js")
const PASSWORD = "correct horse battery"
/** On a busy machine, a start can take minutes. */
const START_MILLIS = 600_000
/** The timeout of a command. It is longer than the pauses of processes on a shared machine. */
const COMMAND_MILLIS = 1_800_000
export const MODEL = "m"
/** The pay-as-you-go balance of the customer in micro-USD. It is never used up. */
export const CREDIT_USD_MICRO = 1_000_000_000_000n
export const QUOTA_USD_MICRO = 1_000_000_000n

export interface Reseller {
  readonly token: string
  readonly customerId: string
  readonly customerEmail: string
  readonly tierId: string
}

export class Gateways {
  readonly urls: ReadonlyArray<string>
  readonly paymentsUrl: string
  key = ""
  reseller: Reseller = { token: "", customerId: "", customerEmail: "", tierId: "" }
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #children: Array<ChildProcess> = []

  private constructor(
    urls: ReadonlyArray<string>,
    paymentsUrl: string,
    environment: Record<string, string | undefined>
  ) {
    this.urls = urls
    this.paymentsUrl = paymentsUrl
    this.#environment = environment
  }

  /** If no payment simulator listens on `paymentsPort` yet, the first gateway starts one. */
  static async start(
    databaseUrl: string,
    upstreamUrl: string,
    directory: string,
    paymentsPort?: number
  ): Promise<Gateways> {
    const catalog = join(directory, "catalog.json")
    writeFileSync(catalog, JSON.stringify(catalogOf(upstreamUrl)))
    const ports = [await freePort(), await freePort()]
    const simulatorPort = paymentsPort ?? (await freePort())
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const gateways = new Gateways(urls, `http://127.0.0.1:${simulatorPort}`, {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_ENV: "test",
      HOST: "127.0.0.1",
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(directory, "data"),
      CATALOG_FILE: catalog,
      DEMO: "off",
      KEY_PEPPER: randomBytes(36).toString("hex"),
      JWT_SECRET: randomBytes(36).toString("hex"),
      PAYMENTS_SIMULATOR: "on",
      PAYMENTS_SIM_PORT: String(simulatorPort),
      LOG_FORMAT: "json",
      TRIAL_KEY: "trial"
    })
    await gateways.tollgate("migrate")
    await gateways.launch(directory)
    gateways.key = await gateways.#createCustomer("caller@example.com")
    gateways.reseller = await gateways.#createReseller("reseller@example.com")
    return gateways
  }

  /** Starts both gateways, for the first time or after {@link stop}. */
  async launch(directory: string): Promise<void> {
    for (const url of this.urls) await this.#launch(Number(new URL(url).port), directory)
  }

  async tollgate(...args: ReadonlyArray<string>): Promise<unknown> {
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args, "--json"], {
      env: this.#environment,
      timeout: COMMAND_MILLIS
    })
    return JSON.parse(stdout)
  }

  /** The number of gateways that have ended by themselves. */
  get dead(): number {
    return this.#children.filter(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null).length
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.splice(0).map(stop))
  }

  async #launch(port: number, directory: string): Promise<void> {
    const log = join(directory, `gateway-${port}.log`)
    const env = { ...this.#environment, PORT: String(port), METRICS_PORT: String(await freePort()) }
    const child = spawn(process.execPath, [...PRODUCTION_FLAGS, SERVER], {
      env,
      stdio: ["ignore", "ignore", openSync(log, "w")]
    })
    this.#children.push(child)
    await eventually(
      "the gateway",
      START_MILLIS,
      async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
    ).catch((cause) => {
      throw new Error(`the gateway did not start. Its log:\n${readFileSync(log, "utf8")}`, { cause })
    })
  }

  async #createCustomer(email: string): Promise<string> {
    await this.tollgate("users", "create", email)
    const amount = ["--usd-micro", String(CREDIT_USD_MICRO), "--operation-id", email, "--reason", "trial"]
    await this.tollgate("payg", "credit", "--user", email, ...amount)
    return textIn(await this.tollgate("keys", "create", "--user", email, "--name", "trial"), "secret")
  }

  async #createReseller(email: string): Promise<Reseller> {
    await this.#post("/auth/signup", { email, password: PASSWORD, name: "Toko", wa_number: "628123456789" })
    await this.tollgate("resellers", "approve", email, "--reason", "trial")
    const amount = ["--usd-micro", String(QUOTA_USD_MICRO), "--operation-id", email, "--reason", "trial"]
    await this.tollgate("quota", "adjust", "--reseller", email, ...amount)
    const token = textIn(await this.#post("/auth/login", { email, password: PASSWORD }), "token")
    const customerEmail = `customer-of-${email}`
    const customer = await this.#post("/customers", { email: customerEmail }, token)
    const response = await fetch(`${this.urls[0]}/api/reseller/tiers`, {
      headers: { authorization: `Bearer ${token}` }
    })
    const { tiers } = (await response.json()) as { readonly tiers: ReadonlyArray<{ readonly plan_tier_id: string }> }
    return { token, customerEmail, customerId: textIn(customer, "user_id"), tierId: tiers[0]?.plan_tier_id ?? "" }
  }

  async #post(path: string, body: object, token?: string): Promise<unknown> {
    const response = await fetch(`${this.urls[0]}/api/reseller${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify(body)
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
}

export const textIn = (document: unknown, member: string): string => {
  const found = (document as Readonly<Record<string, unknown>>)[member]
  if (typeof found !== "string") throw new Error(`no ${member} in ${JSON.stringify(document)}`)
  return found
}

const perMillion = (usdMicro: bigint): number => Number(usdMicro * 1_000_000n)

const catalogOf = (upstreamUrl: string) => ({
  providers: [{ name: "trial", base_url: upstreamUrl, api_key_env: "TRIAL_KEY", protocols: ["chat"] }],
  models: [
    {
      public_name: MODEL,
      display_name: "M",
      author: "Trial",
      price_usd_micro_per_million_tokens: {
        input: perMillion(PRICE_USD_MICRO.input),
        cache_read: perMillion(PRICE_USD_MICRO.input),
        cache_write: perMillion(PRICE_USD_MICRO.input),
        output: perMillion(PRICE_USD_MICRO.output)
      },
      routes: [{ provider: "trial", upstream_model: "m" }],
      tiers: [{ tier_usd_cents: 1, granted_tokens: 1_000 }]
    }
  ]
})
