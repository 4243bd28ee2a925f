/**
 * A whole gateway in this process: the layers of the real server over a database of the test's own, its suppliers
 * scripted.
 *
 *     const gateway = await TestGateway.start()
 *     gateway.upstream.next(stream(chatFrames({ content: ["a"] })))
 *     ... new OpenAI({ baseURL: gateway.url + "/v1", apiKey: gateway.key }) ...
 *     await gateway.close()        // audits the books, and fails when they do not agree
 */

import { type RelayCounters, RelayMetrics } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Users } from "@tollgate/application/customer/Users"
import { Audit } from "@tollgate/application/operations/Audit"
import { gatewayPorts } from "@tollgate/composition/GatewayPorts"
import { realPayments } from "@tollgate/composition/Payments"
import { fromUrl } from "@tollgate/composition/Postgres"
import { readServerConfig, type ServerConfig } from "@tollgate/composition/ServerConfig"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import type { CustomerBalances } from "@tollgate/domain/customer/Customer"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Email } from "@tollgate/domain/validation/Email"
import { Context, Effect, Either, Exit, Layer, Logger, LogLevel, Redacted, Scope } from "effect"
import * as Pg from "pg"
import * as Live from "../../apps/server/src/Live.ts"
import { ScriptedUpstream } from "./ScriptedUpstream.ts"
import * as TestDatabase from "./TestDatabase.ts"
import { betrayingWords } from "./upstream/Betrayal.ts"
import { Wiretap } from "./Wiretap.ts"

const operator = { actor: "test", reason: "a test asked for it" }
const SUPPLIER = "scripted-provider"
export const PROVIDER_KEY = "sk-supplier-0123456789abcdefghijklmnop"
/** The same for every gateway, so that a key made at one is known at another. */
export const TEST_PEPPER = "the pepper that every test gateway has"
/** The same for every gateway, so that a token of one is good at another. */
export const TEST_JWT_SECRET = "what every test gateway signs with"

export interface SettlementRow {
  readonly request_id: string
  readonly ending: string
  readonly usage_source: string
  readonly charged_input: bigint
  readonly charged_cache_read: bigint
  readonly charged_cache_write: bigint
  readonly charged_output: bigint
  readonly consumed_output: bigint
  readonly cost_pico: bigint
  readonly payg_pico: bigint
  readonly writeoff_pico: bigint
}

export interface Customer {
  readonly email: string
  readonly userId: string
  readonly key: string
}

export interface GatewayParts {
  /** On the database of another gateway, as a second node. */
  readonly beside?: TestGateway
  /** Another database than one of its own; an empty one is migrated. */
  readonly database?: TestDatabase.Database
  readonly settings?: Readonly<Record<string, string>>
  /** Members of the one provider and the one model, said otherwise. */
  readonly provider?: object
  readonly model?: object
  /** The way to the database, when it is not to be the direct one. */
  readonly reach?: (database: TestDatabase.Database) => string
  /** Takes every line this gateway logs, as JSON. */
  readonly log?: (line: string) => void
  /** Its supplier gives itself away in every answer, and all that clients are told is listened to; see {@link leaks}. */
  readonly overheard?: boolean
}

let count = 0

export class TestGateway {
  /** Where clients reach it. */
  readonly url: string
  readonly upstream: ScriptedUpstream
  readonly database: TestDatabase.Database
  /** Who calls unless a test says otherwise: has one dollar. */
  customer: Customer = { email: "", userId: "", key: "" }
  readonly counters: RelayCounters
  readonly #ports: Ports
  readonly #scope: Scope.CloseableScope
  readonly #pg: Pg.Pool
  readonly #tap: Wiretap | undefined
  readonly #unsettleable: ReadonlyArray<string>

  /** Prices: 1 micro-USD a token of input and 2 a token of output, so that a balance counts tokens. */
  static async start(parts: GatewayParts = {}): Promise<TestGateway> {
    const scope = await Effect.runPromise(Scope.make())
    const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))
    const upstream = parts.beside?.upstream ?? (await inScope(Effect.promise(() => ScriptedUpstream.start())))
    const database = parts.beside?.database ?? parts.database ?? (await inScope(TestDatabase.make()))
    const config = Either.getOrThrow(
      readServerConfig({
        NODE_ENV: "test",
        PORT: "0",
        METRICS_PORT: "0",
        DATABASE_URL: parts.reach?.(database) ?? database.url,
        KEY_PEPPER: TEST_PEPPER,
        JWT_SECRET: TEST_JWT_SECRET,
        // One port for all servers of a machine is not for tests; those about payments start a simulator of their own.
        PAYMENTS_SIMULATOR: "off",
        DRAIN_SECONDS: "1",
        ...parts.settings
      })
    )
    const unsettleable: Array<string> = []
    const ports = (await inScope(Layer.build(layers(config, unsettleable, parts.log)))) as Ports
    const tap = parts.overheard === true ? await Wiretap.start(addressOf(ports)) : undefined
    if (tap !== undefined) upstream.betray()
    const gateway = new TestGateway(scope, ports, upstream, database, unsettleable, tap)
    if (parts.beside === undefined) await gateway.applyCatalog(parts)
    gateway.customer = parts.beside?.customer ?? (await gateway.newCustomer(1_000_000n))
    return gateway
  }

  private constructor(
    scope: Scope.CloseableScope,
    ports: Ports,
    upstream: ScriptedUpstream,
    database: TestDatabase.Database,
    unsettleable: ReadonlyArray<string>,
    tap: Wiretap | undefined
  ) {
    this.url = tap?.url ?? addressOf(ports)
    this.#tap = tap
    this.#unsettleable = unsettleable
    this.upstream = upstream
    this.database = database
    this.counters = Context.get(ports, RelayMetrics)
    this.#ports = ports
    this.#scope = scope
    this.#pg = new Pg.Pool({ ...database.settings, max: 2 })
    this.#pg.on("error", () => {})
  }

  get key(): string {
    return this.customer.key
  }

  /** One provider, the scripted one, and one model, `m`; in force when this returns. */
  async applyCatalog({ provider = {}, model = {} }: GatewayParts = {}): Promise<void> {
    await this.applyCatalogFile({
      providers: [
        {
          name: SUPPLIER,
          base_url: this.upstream.baseUrl,
          api_key_env: "PROVIDER_KEY",
          protocols: ["chat"],
          ...provider
        }
      ],
      models: [
        {
          public_name: "m",
          display_name: "M",
          author: "Lab",
          price_usd_micro_per_million_tokens: {
            input: 1_000_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
            output: 2_000_000
          },
          routes: [{ provider: SUPPLIER, upstream_model: "upstream-model" }],
          ...model
        }
      ]
    })
  }

  async applyCatalogFile(file: unknown): Promise<void> {
    const terms = Either.getOrThrow(parseCatalogFile(file))
    const { version } = await this.run(Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(terms, operator)))
    const current = Context.get(this.#ports, CurrentCatalog)
    await until(() => current.get().version >= version)
  }

  /** A customer with a key and so much pay-as-you-go credit. */
  newCustomer(usdMicro: bigint): Promise<Customer> {
    const email = Email.make(`caller-${++count}@example.com`)
    return this.run(
      Effect.gen(function* () {
        const user = yield* (yield* Users).create(email, operator)
        const { secret } = yield* (yield* ApiKeys).create(email, "test", operator)
        if (usdMicro > 0n) {
          const operationId = OperationId.make(`credit of ${email}`)
          yield* (yield* PaygAccounts).credit({ email, amount: UsdMicro(usdMicro), operationId, operator })
        }
        return { email, userId: user.id, key: Redacted.value(secret) }
      })
    )
  }

  /** What is left, in whole micro-USD; every price of the default catalog is whole. */
  async balanceUsdMicro(customer: Customer = this.customer): Promise<bigint> {
    const { paygPico } = await this.balances(customer)
    return paygPico / 1_000_000n
  }

  balances(customer: Customer = this.customer): Promise<CustomerBalances> {
    return this.run(
      Effect.gen(function* () {
        const users = yield* Users
        return yield* users.balances(yield* users.find(Email.make(customer.email)))
      })
    )
  }

  /** Rows of a query of the test's own. */
  async query<Row extends object>(text: string, values: ReadonlyArray<unknown> = []): Promise<ReadonlyArray<Row>> {
    return (await this.#pg.query<Row & Pg.QueryResultRow>(text, [...values])).rows
  }

  /** Done when no hold is open any more: everything was settled. */
  async settled(): Promise<void> {
    await until(async () => {
      this.#waitNotInVain()
      return (await this.query("SELECT 1 FROM inference_hold")).length === 0
    })
  }

  /** Fails when the database has refused a settlement, of this request or of any: it will never be there. */
  #waitNotInVain(requestId = ""): void {
    const refused = this.#unsettleable.find((line) => line.includes(requestId))
    if (refused !== undefined) throw new Error(refused)
  }

  /** The settlement of the latest request of a customer, once there is one for each request so far. */
  async lastSettlement(): Promise<SettlementRow> {
    await until(() => this.counters.openRequests === 0)
    await this.settled()
    const rows = await this.query<SettlementRow>("SELECT * FROM settlement ORDER BY request_id DESC LIMIT 1")
    if (rows[0] === undefined) throw new Error("nothing was settled")
    return rows[0]
  }

  /** The settlement of a request, once it is there. */
  async settlementOf(requestId: string): Promise<SettlementRow> {
    for (;;) {
      const [row] = await this.query<SettlementRow>("SELECT * FROM settlement WHERE request_id = $1", [requestId])
      if (row !== undefined) return row
      this.#waitNotInVain(requestId)
      await nextLook()
    }
  }

  run<A, E>(effect: Effect.Effect<A, E, PortTags>): Promise<A> {
    return Effect.runPromise(Effect.provide(effect, this.#ports))
  }

  /** The checks of the audit that found something. */
  audit(): Promise<ReadonlyArray<string>> {
    return this.run(
      Effect.map(
        Effect.flatMap(Audit, (books) => books.audit),
        ({ checks }) => checks.filter(({ violations }) => violations > 0n).map(({ invariant }) => invariant)
      )
    )
  }

  /** Where a client was told of the supplier, of what it costs, or of a key; what stands around it. */
  get leaks(): ReadonlyArray<string> {
    if (this.#tap === undefined || this.#tap.transcripts.length === 0) throw new Error("nobody listened")
    const { host } = new URL(this.upstream.baseUrl)
    return this.#tap.leaksOf([...betrayingWords, SUPPLIER, PROVIDER_KEY, "PROVIDER_KEY", host, this.key])
  }

  /** Stops as SIGTERM would, and leaves the database and the supplier to others. */
  stop(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void)).then(() => this.#pg.end())
  }

  async close(): Promise<void> {
    try {
      await until(() => this.counters.openRequests === 0)
      await this.settled()
      const broken = await this.audit()
      if (broken.length > 0) throw new Error(`the books do not agree: ${broken.join("; ")}`)
    } finally {
      await this.#tap?.close()
      await this.stop()
      await this.upstream.close()
    }
  }
}

/** Everything a server is made of, and the books. */
type PortTags = Layer.Layer.Success<ReturnType<typeof layers>>
type Ports = Context.Context<PortTags>

const addressOf = (ports: Ports): string => `http://127.0.0.1:${Context.get(ports, GatewayServer).port}`

const layers = (config: ServerConfig, unsettleable: Array<string>, log: ((line: string) => void) | undefined) =>
  Layer.provideMerge(
    Layer.merge(Live.server(config), PgAudit.layer),
    gatewayPorts(config, {
      providerKeys: (name) => (name === "PROVIDER_KEY" ? Redacted.make(PROVIDER_KEY) : undefined),
      postgres: config.DATABASE_URL === undefined ? Layer.die("no DATABASE_URL") : fromUrl(config.DATABASE_URL),
      payments: realPayments(config.payments)
    })
  ).pipe(
    Layer.provide(
      loggedTo(log === undefined ? LogLevel.Error : LogLevel.All, (line) => {
        if (line.includes("the database rejected a settlement")) unsettleable.push(line)
        log?.(line)
      })
    )
  )

const loggedTo = (level: LogLevel.LogLevel, log: (line: string) => void) =>
  Layer.merge(Logger.replace(Logger.defaultLogger, Logger.map(Logger.jsonLogger, log)), Logger.minimumLogLevel(level))

/** Waits for a condition; a test that waits in vain runs into its own time limit. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await nextLook()
}

const nextLook = () => new Promise((resolve) => setTimeout(resolve, 5))
