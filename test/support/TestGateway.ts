/**
 * Runs a complete gateway in this process: the layers of the real server over a test database, with a scripted
 * upstream.
 *
 *     const gateway = await TestGateway.start()
 *     gateway.upstream.next(stream(chatFrames({ content: ["a"] })))
 *     ... new OpenAI({ baseURL: gateway.url + "/v1", apiKey: gateway.key }) ...
 *     await gateway.close()        // runs the audit, and fails if the audit finds a violation
 */

import { type RelayCounters, RelayMetrics } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import { ResponseTimeout } from "@tollgate/adapters-postgres/client/ResponseTimeout"
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
import { Context, Effect, Either, Exit, identity, Layer, Logger, LogLevel, Redacted, Scope } from "effect"
import * as Pg from "pg"
import * as Live from "../../apps/server/src/Live.ts"
import { RecordingProxy } from "./RecordingProxy.ts"
import { ScriptedUpstream } from "./ScriptedUpstream.ts"
import * as TestDatabase from "./TestDatabase.ts"
import { identifyingWords } from "./upstream/ProviderIdentity.ts"

const operator = { actor: "test", reason: "required by a test" }
const PROVIDER = "scripted-provider"
export const PROVIDER_KEY = "sk-provider-0123456789abcdefghijklmnop"
/** Shared, so that an API key of one gateway is valid at another with the same database. */
export const TEST_PEPPER = "the pepper of every test gateway"
/** Shared, so that a login token of one gateway is valid at another with the same database. */
export const TEST_JWT_SECRET = "the signing secret of every test gateway"

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
  /** The gateway whose database and upstream this gateway uses, as a second node. */
  readonly beside?: TestGateway
  /** An existing database. It is migrated if it has no schema. */
  readonly database?: TestDatabase.Database
  readonly settings?: Readonly<Record<string, string>>
  /** Members that replace the members of the provider or the model in the catalog. */
  readonly provider?: object
  readonly model?: object
  /** Returns another URL of the database, for example the URL of a proxy. */
  readonly reach?: (database: TestDatabase.Database) => string
  /** Time without a response of the database after which the server closes a pooled connection. */
  readonly responseTimeoutMillis?: number
  /** Receives every log line, formatted as JSON. */
  readonly log?: (line: string) => void
  /**
   * True if upstream responses identify the provider and a proxy records all bytes to clients; see {@link
   * TestGateway.leaks}.
   */
  readonly recorded?: boolean
}

let count = 0

export class TestGateway {
  readonly url: string
  readonly upstream: ScriptedUpstream
  readonly database: TestDatabase.Database
  /** The default customer, whose pay-as-you-go balance is 1 USD. */
  customer: Customer = { email: "", userId: "", key: "" }
  readonly counters: RelayCounters
  readonly #ports: Ports
  readonly #scope: Scope.CloseableScope
  readonly #pg: Pg.Pool
  readonly #proxy: RecordingProxy | undefined
  readonly #unsettleable: ReadonlyArray<string>

  /** Starts a gateway. An input token costs 1 micro-USD and an output token 2 micro-USD. */
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
        // Tests do not share the simulator port of the machine. Payment tests start their own simulator.
        PAYMENTS_SIMULATOR: "off",
        DRAIN_SECONDS: "1",
        ...parts.settings
      })
    )
    const unsettleable: Array<string> = []
    const ports = (await inScope(
      Layer.build(layers(config, unsettleable, parts.log)).pipe(
        parts.responseTimeoutMillis === undefined
          ? identity
          : Effect.provideService(ResponseTimeout, parts.responseTimeoutMillis)
      )
    )) as Ports
    const proxy = parts.recorded === true ? await RecordingProxy.start(addressOf(ports)) : undefined
    if (proxy !== undefined) upstream.revealProvider()
    const gateway = new TestGateway(scope, ports, upstream, database, unsettleable, proxy)
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
    proxy: RecordingProxy | undefined
  ) {
    this.url = proxy?.url ?? addressOf(ports)
    this.#proxy = proxy
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

  /** Applies a catalog with the scripted provider and the model `m`, and waits until this gateway uses it. */
  async applyCatalog({ provider = {}, model = {} }: GatewayParts = {}): Promise<void> {
    await this.applyCatalogFile({
      providers: [
        {
          name: PROVIDER,
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
          routes: [{ provider: PROVIDER, upstream_model: "upstream-model" }],
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

  /** The default prices are whole micro-USD per token, so no fraction is cut off. */
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

  async query<Row extends object>(text: string, values: ReadonlyArray<unknown> = []): Promise<ReadonlyArray<Row>> {
    return (await this.#pg.query<Row & Pg.QueryResultRow>(text, [...values])).rows
  }

  /** Waits until no hold is open, which means that every request is settled. */
  async settled(): Promise<void> {
    await until(async () => {
      this.#failIfUnsettleable()
      return (await this.query("SELECT 1 FROM open_request")).length === 0
    })
  }

  /** Fails if the database has rejected a settlement, because a test would wait for it forever. */
  #failIfUnsettleable(requestId = ""): void {
    const refused = this.#unsettleable.find((line) => line.includes(requestId))
    if (refused !== undefined) throw new Error(refused)
  }

  /** Waits until every request is settled, and returns the settlement of the last request of any customer. */
  async lastSettlement(): Promise<SettlementRow> {
    await until(() => this.counters.openRequests === 0)
    await this.settled()
    const rows = await this.query<SettlementRow>("SELECT * FROM settlement ORDER BY request_id DESC LIMIT 1")
    if (rows[0] === undefined) throw new Error("there is no settlement")
    return rows[0]
  }

  async settlementOf(requestId: string): Promise<SettlementRow> {
    for (;;) {
      const [row] = await this.query<SettlementRow>("SELECT * FROM settlement WHERE request_id = $1", [requestId])
      if (row !== undefined) return row
      this.#failIfUnsettleable(requestId)
      await nextCheck()
    }
  }

  run<A, E>(effect: Effect.Effect<A, E, PortTags>): Promise<A> {
    return Effect.runPromise(Effect.provide(effect, this.#ports))
  }

  audit(): Promise<ReadonlyArray<string>> {
    return this.run(
      Effect.map(
        Effect.flatMap(Audit, (audit) => audit.audit),
        ({ checks }) => checks.filter(({ violations }) => violations > 0n).map(({ invariant }) => invariant)
      )
    )
  }

  /** The places where a client received data that identifies the provider, a cost or a key. */
  get leaks(): ReadonlyArray<string> {
    if (this.#proxy === undefined || this.#proxy.transcripts.length === 0) throw new Error("no response was recorded")
    const { host } = new URL(this.upstream.baseUrl)
    return this.#proxy.leaksOf([...identifyingWords, PROVIDER, PROVIDER_KEY, "PROVIDER_KEY", host, this.key])
  }

  /** Stops the gateway as SIGTERM does. The upstream stays open, because other nodes can use it. */
  stop(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void)).then(() => this.#pg.end())
  }

  async close(): Promise<void> {
    try {
      await until(() => this.counters.openRequests === 0)
      await this.settled()
      const broken = await this.audit()
      if (broken.length > 0) throw new Error(`the audit found violations: ${broken.join("; ")}`)
    } finally {
      await this.#proxy?.close()
      await this.stop()
      await this.upstream.close()
    }
  }
}

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

/** Waits until a condition holds. Only the timeout of the test ends the waiting earlier. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await nextCheck()
}

const nextCheck = () => new Promise((resolve) => setTimeout(resolve, 5))
