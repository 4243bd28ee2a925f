/**
 * Runs the reseller features in this process: a server on its own port, the stores over a test database, and the real
 * payment adapters, which call a payment simulator. A scripted upstream serves the requests of customers.
 *
 *     const programme = await TestProgramme.start()
 *     const { token } = await programme.reseller({ quotaUsdMicro: 5_000_000n })
 *     const { status, body } = await programme.get("/api/reseller/me", { token })
 *     await programme.close()        // fails if the audit finds a violation or an error was logged
 */
import { GatewayServer } from "@tollgate/adapters-http/server/GatewayServer"
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { Customers } from "@tollgate/application/customer/Customers"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Audit } from "@tollgate/application/operations/Audit"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import { Quota } from "@tollgate/application/reseller/Quota"
import { TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import { Email } from "@tollgate/domain/validation/Email"
import { Context, Effect, Either, Exit, Layer, Redacted, Scope } from "effect"
import * as Pg from "pg"
import { layers, type ProgrammePorts, type ProgrammeSettings } from "./ProgrammeLayers.ts"
import { ScriptedUpstream } from "./ScriptedUpstream.ts"
import { type Json, jsonOf, type ReceivedWebhook, startedSimulator, startWebhookReceiver } from "./SimulatedPayments.ts"
import { operator } from "./Stores.ts"
import * as TestDatabase from "./TestDatabase.ts"
import { until } from "./TestGateway.ts"

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed text, or an empty object when the text is not JSON. */
  readonly body: Json
}

export interface RequestOptions {
  readonly token?: string | undefined
  /** The request body. A string or bytes are sent unchanged, any other value as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Actor {
  readonly id: ResellerId
  readonly email: string
  readonly password: string
  readonly token: string
}

export interface Customer {
  readonly userId: string
  readonly email: string
}

let count = 0

export class TestProgramme {
  readonly url: string
  readonly simulator: string
  readonly upstream: ScriptedUpstream
  readonly settings: ProgrammeSettings
  /** The webhooks of the payment providers. The gateway receives only those that a test forwards to it. */
  readonly reports: ReadonlyArray<ReceivedWebhook>
  readonly #ports: Context.Context<ProgrammePorts>
  readonly #scope: Scope.CloseableScope
  readonly #pg: Pg.Pool

  static async start(options: Partial<ProgrammeSettings> = {}): Promise<TestProgramme> {
    const scope = await Effect.runPromise(Scope.make())
    const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))
    const upstream = await inScope(Effect.promise(() => ScriptedUpstream.start()))
    const database = await inScope(TestDatabase.make())
    const receiver = await inScope(startWebhookReceiver())
    const { baseUrl } = await inScope(startedSimulator({ webhookBase: receiver.url }))
    const settings: ProgrammeSettings = {
      database,
      simulator: baseUrl,
      gatewayUrl: receiver.url,
      faults: [],
      hashes: { hashed: 0, verified: 0 },
      withoutPictures: false,
      linkPolicy: "closed",
      publicBaseUrl: undefined,
      trustedProxies: "",
      operatorConsole: true,
      webhookOrigins: [],
      ...options
    }
    const ports = await inScope(Layer.build(layers(settings)))
    const programme = new TestProgramme(scope, ports, upstream, settings, receiver.webhooks)
    await programme.#applyCatalog()
    return programme
  }

  private constructor(
    scope: Scope.CloseableScope,
    ports: Context.Context<ProgrammePorts>,
    upstream: ScriptedUpstream,
    settings: ProgrammeSettings,
    reports: ReadonlyArray<ReceivedWebhook>
  ) {
    this.url = `http://127.0.0.1:${Context.get(ports, GatewayServer).port}`
    this.simulator = settings.simulator
    this.upstream = upstream
    this.settings = settings
    this.reports = reports
    this.#ports = ports
    this.#scope = scope
    this.#pg = new Pg.Pool({ ...settings.database.settings, max: 2 })
    this.#pg.on("error", () => {})
  }

  get(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    return this.ask("GET", path, options)
  }

  post(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    return this.ask("POST", path, options)
  }

  delete(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    return this.ask("DELETE", path, options)
  }

  async ask(method: string, path: string, { token, body, headers = {} }: RequestOptions): Promise<ApiResponse> {
    const bytes = body === undefined || typeof body === "string" || body instanceof Uint8Array
    const response = await fetch(this.url + path, {
      method,
      redirect: "manual",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers
      },
      ...(body === undefined ? {} : { body: bytes ? (body as string) : JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: jsonOf(text) }
  }

  /** Applies an action to the payment of an order, and waits until the provider's API shows the result. */
  async simulate(action: "pay" | "underpay" | "overpay" | "expire" | "fail", orderNumber: string): Promise<void> {
    const response = await fetch(`${this.simulator}/${action}/${orderNumber}`, { method: "POST" })
    if (response.status !== 200) throw new Error(await response.text())
  }

  /** Simulates another payment to the deposit address of a crypto order that has already received a payment. */
  async sendAgain(orderNumber: string, sent: { readonly amount?: string; readonly status?: string }): Promise<void> {
    const response = await fetch(`${this.simulator}/again/${orderNumber}`, {
      method: "POST",
      body: JSON.stringify(sent)
    })
    if (response.status !== 200) throw new Error(await response.text())
  }

  async fault(mode: string, provider = "all"): Promise<void> {
    const response = await fetch(`${this.simulator}/fault`, {
      method: "POST",
      body: JSON.stringify({ mode, provider })
    })
    if (response.status !== 200) throw new Error(await response.text())
  }

  /**
   * Creates a reseller with a login token and this quota. By default it is approved; `moves` lists the review
   * decisions.
   */
  async reseller({
    quotaUsdMicro = 0n,
    moves = ["approve"]
  }: {
    readonly quotaUsdMicro?: bigint
    readonly moves?: ReadonlyArray<ReviewMove>
  } = {}): Promise<Actor> {
    const email = Email.make(`reseller-${++count}@example.com`)
    const password = `password of ${email}`
    return this.run(
      Effect.gen(function* () {
        const resellers = yield* Resellers
        const passwordHash = yield* (yield* PasswordHasher).hash("signup", Redacted.make(password))
        const { id } = yield* resellers.create({ email, name: "Toko Token", waNumber: "628123456789", passwordHash })
        for (const move of moves) yield* resellers.review(id, move, operator)
        if (quotaUsdMicro > 0n) {
          const operationId = OperationId.make(`quota of ${email}`)
          yield* (yield* Quota).adjust({ resellerId: id, change: QuotaChange(quotaUsdMicro), operationId }, operator)
        }
        const claims = { resellerId: id, tokenVersion: 0 }
        const token = Redacted.value(yield* (yield* TokenSigner).issue(claims))
        return { id, email, password, token }
      })
    )
  }

  /** Creates a customer of the reseller. The customer has this pay-as-you-go balance. */
  customerOf({ id }: Actor, usdMicro = 0n): Promise<Customer> {
    const email = Email.make(`customer-${++count}@example.com`)
    return this.run(
      Effect.gen(function* () {
        const { userId } = yield* (yield* Customers).resolve(id, email, "closed")
        if (usdMicro > 0n) {
          const operationId = OperationId.make(`credit of ${email}`)
          yield* (yield* PaygAccounts).credit({ email, amount: UsdMicro(usdMicro), operationId, operator })
        }
        return { userId, email }
      })
    )
  }

  review({ id }: Actor, move: ReviewMove): Promise<unknown> {
    return this.run(Effect.flatMap(Resellers, (resellers) => resellers.review(id, move, operator)))
  }

  run<A, E>(effect: Effect.Effect<A, E, ProgrammePorts>): Promise<A> {
    return Effect.runPromise(Effect.provide(effect, this.#ports))
  }

  async query<Row extends object>(text: string, values: ReadonlyArray<unknown> = []): Promise<ReadonlyArray<Row>> {
    return (await this.#pg.query<Row & Pg.QueryResultRow>(text, [...values])).rows
  }

  /** Waits until no hold is open, which means that every inference request is settled. */
  async settled(): Promise<void> {
    await until(async () => (await this.query("SELECT 1 FROM open_request")).length === 0)
  }

  async close(): Promise<void> {
    try {
      await this.settled()
      const { checks } = await this.run(Effect.flatMap(Audit, ({ audit }) => audit))
      const broken = checks.filter(({ violations }) => violations > 0n).map(({ invariant }) => invariant)
      if (broken.length > 0) throw new Error(`the audit found violations: ${broken.join("; ")}`)
      const { faults } = this.settings
      if (faults.length > 0) throw new Error(`the gateway logged errors: ${faults.join("\n")}`)
    } finally {
      await this.#pg.end()
      await Effect.runPromise(Scope.close(this.#scope, Exit.void))
      await this.upstream.close()
    }
  }

  /**
   * Applies a catalog with the models `m` and `a`, and waits until the gateway uses it. An input token costs 1
   * micro-USD and an output token 2 micro-USD.
   */
  async #applyCatalog(): Promise<void> {
    const model = (publicName: string, tiers: ReadonlyArray<object>) => ({
      public_name: publicName,
      display_name: publicName.toUpperCase(),
      author: "Lab",
      price_usd_micro_per_million_tokens: {
        input: 1_000_000,
        cache_read: 1_000_000,
        cache_write: 1_000_000,
        output: 2_000_000
      },
      routes: [{ provider: "scripted", upstream_model: "upstream-model" }],
      tiers
    })
    const file = Either.getOrThrow(
      parseCatalogFile({
        providers: [
          { name: "scripted", base_url: this.upstream.baseUrl, api_key_env: "PROVIDER_KEY", protocols: ["chat"] }
        ],
        models: [
          model("m", [
            { tier_usd_cents: 500, granted_tokens: 2_000_000, for_sale: true },
            { tier_usd_cents: 300, granted_tokens: 1_000_000, for_sale: false },
            { tier_usd_cents: 100, granted_tokens: 300_000, for_sale: true }
          ]),
          model("a", [{ tier_usd_cents: 500, granted_tokens: 1_500_000, for_sale: true }])
        ]
      })
    )
    const { version } = await this.run(Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(file, operator)))
    const current = Context.get(this.#ports, CurrentCatalog)
    await until(() => current.get().version >= version)
  }
}
