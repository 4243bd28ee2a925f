/**
 * `startGateway` starts a gateway on a free port, with connections to local providers and a ledger in memory. Every
 * test must stop its gateways with `closeGateways`, which returns the resources that are still in use.
 */

import { ConsoleFolder } from "@tollgate/adapters-http/console/ConsoleFiles"
import * as InFlight from "@tollgate/adapters-http/http/InFlight"
import { defaultSettings, ImageSettings, type ImageSettingsValues } from "@tollgate/adapters-http/images/ImagesRoutes"
import * as RelayMetrics from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { PublicPrices } from "@tollgate/adapters-http/pages/StartPage"
import * as GatewayApiLive from "@tollgate/adapters-http/server/GatewayApiLive"
import * as GatewayOptions from "@tollgate/adapters-http/server/GatewayOptions"
import * as GatewayServer from "@tollgate/adapters-http/server/GatewayServer"
import * as UndiciUpstreams from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { Funds } from "@tollgate/application/inference/Funds"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type { Upstreams } from "@tollgate/application/inference/Upstreams"
import {
  type Admission,
  type AdmissionCallback,
  InferenceLedger,
  type Measured,
  type SettlementRequest
} from "@tollgate/application/ledger/InferenceLedger"
import { Database } from "@tollgate/application/operations/Database"
import type { RankingsCache, RankingsHistory, RankingsPolicy } from "@tollgate/application/rankings/ReadRankings"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import { type Model, ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { type Provider, ProviderName } from "@tollgate/domain/catalog/Provider"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import { InvalidApiKey, type Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { AccountId, type PlanAccount } from "@tollgate/domain/ledger/Account"
import {
  type Balances,
  decideHold,
  extendHold,
  type Held,
  type Hold,
  type InsufficientBalance
} from "@tollgate/domain/ledger/Hold"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { decideSettlement, type Settlement } from "@tollgate/domain/ledger/Settlement"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as UsdPico from "@tollgate/domain/money/UsdPico"
import { Clock, Duration, Effect, Either, Exit, Layer, Logger, Redacted, Scope } from "effect"
import * as NoProgramme from "../../../support/NoProgramme.ts"
import * as NoRankings from "../../../support/NoRankings.ts"
import { aProvider } from "../../../support/upstream/Candidates.ts"
import { FakeImageRequests } from "../../images/FakeImageRequests.ts"

const PROVIDER_KEY = Redacted.make("provider-key")
export const KEY = "tg_the_good_key"
/** The API key of another customer. */
export const OTHER_KEY = "tg_another_good_key"

/** The ledger in memory. It records the admitted requests and their settlements. */
export class Journal {
  readonly admitted: Array<Admission> = []
  readonly settled: Array<Measured & { readonly requestId: string; readonly waited: boolean }> = []
  writtenOffPico = 0n
  /** The error with which admissions fail; undefined if they succeed. */
  refusal: InsufficientBalance | InvalidApiKey | Overloaded | undefined
  /** The token plan that all requests of the gateway use. */
  plan: PlanAccount = planOf(1_000_000_000n)
  readonly holds = new Map<string, Hold>()
  /** The output tokens that each requested extension had to cover. */
  readonly extensions: Array<bigint> = []
  /** The error with which extensions fail; undefined if they succeed. */
  extensionRefusal: Overloaded | undefined
  /** True if providers are called before the hold is durable. */
  isAmple = false
  /** The time for which an admission waits for its response, if providers are called before the hold is durable. */
  deferredMillis = 10
  /** The number of requests that were settled together with their admission. */
  settledAtOnce = 0
  /** An effect that runs before each admission becomes durable. */
  beforeAdmission: Effect.Effect<void> = Effect.void
  /** An effect that runs before each settlement for which a response waits. */
  beforeSettling: Effect.Effect<void> = Effect.void
  /** An effect that runs before the funds of a customer are read. */
  beforeFunds: Effect.Effect<void> = Effect.void
  /** An effect that runs before each local token count. */
  beforeCounting: Effect.Effect<void> = Effect.void
  /** True if another node has settled the requests, because it considered this node dead. */
  settledByOtherNode = false
  reachable = true

  get balances(): Balances {
    return { plan: this.plan, payg: undefined }
  }

  recordHold({ requestId }: Admission, { hold, plan }: Held): Hold {
    if (plan !== undefined) this.plan = plan
    this.holds.set(requestId, hold)
    return hold
  }

  settle({ admission, measure }: SettlementRequest, waited: boolean): Measured {
    const measured = measure()
    this.settled.push({ ...measured, requestId: admission.requestId, waited })
    const hold = this.holds.get(admission.requestId)
    this.holds.delete(admission.requestId)
    if (hold !== undefined) {
      const after = decideSettlement(hold, measured.charge, admission.price, this.balances)
      this.plan = after.plan ?? this.plan
      this.writtenOffPico += after.settlement.writeoffPico
    }
    return measured
  }
}

export const planOf = (tokens: bigint): PlanAccount => ({
  id: AccountId("plan"),
  creditsPosted: Tokens.Tokens(tokens),
  debitsPosted: Tokens.zero,
  debitsPending: Tokens.zero
})

const admit = (
  journal: Journal,
  admission: Admission
): Exit.Exit<Hold, InsufficientBalance | InvalidApiKey | Overloaded> => {
  if (journal.refusal !== undefined) return Exit.fail(journal.refusal)
  const held = decideHold(admission.estimate, admission.price, journal.balances)
  if (Either.isLeft(held)) return Exit.fail(held.left)
  journal.admitted.push(admission)
  return Exit.succeed(journal.recordHold(admission, held.right))
}

const FREE: Settlement = {
  costPico: UsdPico.zero,
  planTokens: Tokens.zero,
  planValuePico: UsdPico.zero,
  paygPico: UsdPico.zero,
  writeoffPico: UsdPico.zero
}

/** Defers admissions as the ledger does. */
const deferring = (
  journal: Journal
): Pick<InferenceLedger["Type"], "admitLater" | "admitNow" | "settleWithAdmission"> => {
  const deferred = new Map<Admission, AdmissionCallback>()
  const admitted = (admission: Admission, callback: AdmissionCallback) =>
    Effect.runCallback(journal.beforeAdmission, { onExit: () => callback(admit(journal, admission)) })
  const admitNow = (admission: Admission) => {
    const callback = deferred.get(admission)
    if (callback === undefined) return
    deferred.delete(admission)
    admitted(admission, callback)
  }
  return {
    admitNow,
    admitLater: (admission, callback) => {
      deferred.set(admission, callback)
      setTimeout(() => admitNow(admission), journal.deferredMillis).unref()
    },
    settleWithAdmission: (request, callback) => {
      const refused = deferred.get(request.admission)
      if (refused === undefined) return false
      deferred.delete(request.admission)
      admitted(request.admission, (exit) => {
        if (Exit.isFailure(exit)) refused(exit)
        else {
          journal.settledAtOnce += 1
          callback(Exit.succeed({ measured: journal.settle(request, true), settlement: FREE }))
        }
      })
      return true
    }
  }
}

const ledger = (journal: Journal) =>
  Layer.succeed(InferenceLedger, {
    isAmple: () => journal.isAmple,
    admit: (admission, callback) => {
      Effect.runCallback(journal.beforeAdmission, { onExit: () => callback(admit(journal, admission)) })
    },
    extend: ({ admission, usage }, callback) => {
      journal.extensions.push(usage.output)
      const hold = journal.holds.get(admission.requestId)
      if (journal.extensionRefusal !== undefined) callback(Exit.fail(journal.extensionRefusal))
      else if (hold === undefined) callback(Exit.succeed(undefined))
      else callback(Exit.succeed(journal.recordHold(admission, extendHold(hold, usage, admission, journal.balances))))
    },
    settle: (request, callback) => {
      Effect.runCallback(journal.beforeSettling, {
        onExit: () => {
          const measured = journal.settle(request, true)
          callback(Exit.succeed(journal.settledByOtherNode ? undefined : { measured, settlement: FREE }))
        }
      })
    },
    ...deferring(journal),
    settleLater: (request) => void journal.settle(request, false),
    flush: Effect.void,
    checkpoint: () => Effect.void,
    load: () => ({ waitingAdmissions: 0, unsettled: 0, transactions: 0, transactionMillis: 0 })
  })

const customer = {
  keyId: ApiKeyId.make("019a9f0e-0000-7000-8000-000000000001"),
  userId: UserId.make("019a9f0e-0000-7000-8000-000000000002")
}

const otherCustomer = {
  keyId: ApiKeyId.make("019a9f0e-0000-7000-8000-000000000003"),
  userId: UserId.make("019a9f0e-0000-7000-8000-000000000004")
}

const customers = new Map([
  [KEY, customer],
  [OTHER_KEY, otherCustomer]
])

const identify = (presented: Redacted.Redacted<string>) =>
  Either.fromNullable(customers.get(Redacted.value(presented)), () => new InvalidApiKey({ reason: "unknown" }))

const authenticator = Layer.succeed(ApiKeyAuthenticator, {
  authenticate: identify,
  recall: identify
})

/** Every customer has funds, unless admissions fail with `InsufficientBalance`. */
const funds = (journal: Journal) =>
  Layer.succeed(Funds, {
    areAvailable: () =>
      Effect.suspend(() => Effect.as(journal.beforeFunds, journal.refusal?._tag !== "InsufficientBalance"))
  })

const database = (journal: Journal) =>
  Layer.succeed(Database, {
    reachable: Effect.sync(() => journal.reachable),
    state: Effect.die("not called in this test"),
    identity: Effect.die("not called in this test"),
    olderNodes: () => Effect.die("not called in this test"),
    migrate: Effect.die("not called in this test"),
    migrateWithoutOlderNodes: () => Effect.die("not called in this test")
  })

/** Counts each character as one token. */
const counter = (journal: Journal) =>
  Layer.succeed(TokenCounter, { count: (text) => Effect.as(journal.beforeCounting, Tokens.fromCount(text.length)) })

const price = PicoPerToken(1_000n)

export const aModel = (parts: Partial<Model> = {}): Model => ({
  id: ModelId("model"),
  priceId: PriceId("price"),
  publicName: "m",
  displayName: "M",
  author: "Lab",
  kind: "text",
  discoveryRank: 0,
  hidden: false,
  capabilities: [],
  price: { input: price, cacheWrite: price, cacheRead: price, output: price },
  routes: [],
  retired: false,
  ...parts
})

/** Returns a catalog with the model `m`. The model has one route for each provider; earlier providers have priority. */
export const catalogOf = (...providers: ReadonlyArray<Partial<Provider>>): Catalog => {
  const whole = providers.map((provider, i) => aProvider({ name: ProviderName(`provider-${i}`), ...provider }))
  const routes = whole.map(({ name }, i) => ({ provider: name, upstreamModel: `m-${i}`, priority: i, weight: 1 }))
  return {
    version: 1,
    models: new Map([["m", aModel({ routes })]]),
    providers: new Map(whole.map((provider) => [provider.name, provider]))
  }
}

export interface TestGatewayOptions extends Partial<GatewayOptions.GatewayOptions> {
  readonly catalog: Catalog
  readonly upstreams?: Layer.Layer<Upstreams>
  readonly rankings?: Layer.Layer<RankingsPolicy | RankingsHistory | RankingsCache>
  readonly images?: FakeImageRequests
  readonly imageSettings?: Partial<ImageSettingsValues>
  readonly passwordHasher?: PasswordHasher["Type"]
  /** The folder of a built console; by default there is none. */
  readonly consoleFolder?: string
  /** True if the page `/` shows models and prices. */
  readonly publicPrices?: boolean
  /** The delay of the drain ends when this promise is fulfilled, and not after `drainDelaySeconds`. */
  readonly endOfDelay?: Promise<void>
}

export interface TestGateway {
  readonly port: number
  readonly url: string
  readonly journal: Journal
  readonly counters: RelayMetrics.RelayCounters
  readonly inFlight: InFlight.InFlightRequests
  readonly logged: Array<string>
  /** Drains the gateway and waits until it has stopped. */
  readonly close: () => Promise<void>
}

const open: Array<TestGateway> = []

export const startGateway = async ({
  catalog,
  upstreams = UndiciUpstreams.layer({ keys: () => PROVIDER_KEY }),
  rankings = NoRankings.layer,
  images = new FakeImageRequests(),
  imageSettings = {},
  passwordHasher,
  consoleFolder,
  publicPrices = false,
  endOfDelay,
  ...options
}: TestGatewayOptions): Promise<TestGateway> => {
  const journal = new Journal()
  const logged: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.map(Logger.jsonLogger, (line) => {
      logged.push(line)
    })
  )
  const gatewayServer = GatewayServer.layer({
    ...GatewayOptions.defaults,
    host: "127.0.0.1",
    port: 0,
    drainSeconds: 5,
    tickMillis: 20,
    ...options
  }).pipe(Layer.provide(GatewayApiLive.layer), Layer.provideMerge(InFlight.layer))
  const live = gatewayServer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        ledger(journal),
        authenticator,
        funds(journal),
        database(journal),
        counter(journal),
        upstreams,
        OpenRequests.layer,
        RelayMetrics.layer,
        NoProgramme.layer,
        passwordHasher === undefined ? Layer.empty : Layer.succeed(PasswordHasher, passwordHasher),
        rankings,
        images.layer,
        Layer.succeed(ImageSettings, { ...defaultSettings, ...imageSettings }),
        Layer.succeed(ConsoleFolder, consoleFolder),
        Layer.succeed(PublicPrices, publicPrices),
        Layer.succeed(CurrentCatalog, { get: () => catalog })
      )
    ),
    Layer.provide(logger)
  )
  const scope = Effect.runSync(Scope.make())
  const {
    server: { port },
    counters,
    inFlight
  } = await Effect.runPromise(
    Effect.flatMap(Effect.withClock(Layer.buildWithScope(live, scope), clockOf(options, endOfDelay)), (context) =>
      Effect.provide(
        Effect.all({
          server: GatewayServer.GatewayServer,
          counters: RelayMetrics.RelayMetrics,
          inFlight: InFlight.InFlight
        }),
        context
      )
    )
  )
  let closing: Promise<void> | undefined
  const gateway: TestGateway = {
    port,
    url: `http://127.0.0.1:${port}`,
    journal,
    counters,
    inFlight,
    logged,
    close: () => {
      closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
      return closing
    }
  }
  open.push(gateway)
  return gateway
}

/** If there is a promise, the delay of the drain ends on this clock when the promise is fulfilled. */
const clockOf = (
  { drainDelaySeconds }: Partial<GatewayOptions.GatewayOptions>,
  endOfDelay: Promise<void> | undefined
): Clock.Clock => {
  const clock = Clock.make()
  if (endOfDelay === undefined) return clock
  const sleep = (time: Duration.Duration) =>
    Duration.toSeconds(time) === drainDelaySeconds ? Effect.promise(() => endOfDelay) : clock.sleep(time)
  return Object.assign(Object.create(clock) as Clock.Clock, { sleep })
}

/** Stops the gateways of the test, and returns the resources that each of them still uses. */
export const closeGateways = async (): Promise<ReadonlyArray<unknown>> => {
  const remaining: Array<unknown> = []
  closed = open.splice(0)
  for (const gateway of closed) {
    await gateway.close()
    const { openRequests, openStreams, openExchanges, bodyBytes, imageBytes } = gateway.counters
    remaining.push({ openRequests, openStreams, openExchanges, bodyBytes, imageBytes })
  }
  return remaining
}

let closed: ReadonlyArray<TestGateway> = []

/** Returns the expected result of {@link closeGateways}: each gateway uses no resources. */
export const noResources = (): ReadonlyArray<unknown> =>
  closed.map(() => ({ openRequests: 0, openStreams: 0, openExchanges: 0, bodyBytes: 0, imageBytes: 0 }))

/** Waits at most 100 seconds until the condition is true. */
export const eventually = async (condition: () => boolean, what = "a condition"): Promise<void> => {
  const deadline = performance.now() + 100_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`timed out while waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
