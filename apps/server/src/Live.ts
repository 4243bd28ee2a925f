/**
 * Which adapter stands behind which port, and in which order they stop.
 *
 * Layers close in the reverse of the order they are built in: the server drains first, then the ledger writes what is
 * left, then the node says goodbye, and the database goes last.
 */
import { join } from "node:path"
import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import * as HmacCursorSealer from "@tollgate/adapters-http/auth/HmacCursorSealer"
import * as JoseTokenSigner from "@tollgate/adapters-http/auth/JoseTokenSigner"
import * as TrustedProxies from "@tollgate/adapters-http/auth/TrustedProxies"
import { chatProtocol } from "@tollgate/adapters-http/chat/ChatProtocol"
import * as GatewayApiLive from "@tollgate/adapters-http/docs/GatewayApiLive"
import * as ImageSettings from "@tollgate/adapters-http/images/ImageSettings"
import { countTokensRoute } from "@tollgate/adapters-http/messages/CountTokens"
import { messagesProtocol } from "@tollgate/adapters-http/messages/MessagesProtocol"
import { ServiceTitle } from "@tollgate/adapters-http/rankings/RankingsPage"
import { relayRoute } from "@tollgate/adapters-http/relay/Relay"
import * as RelayMetrics from "@tollgate/adapters-http/relay/RelayMetrics"
import * as PublicAddress from "@tollgate/adapters-http/reseller/PublicAddress"
import * as QrLinks from "@tollgate/adapters-http/reseller/QrLinks"
import { responsesProtocol } from "@tollgate/adapters-http/responses/ResponsesProtocol"
import * as GatewayOptions from "@tollgate/adapters-http/server/GatewayOptions"
import * as GatewayServer from "@tollgate/adapters-http/server/GatewayServer"
import * as InFlight from "@tollgate/adapters-http/server/InFlight"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/batch/PgInferenceLedger"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/adapters-postgres/embedded/EmbeddedPostgres"
import * as LocalSecrets from "@tollgate/adapters-postgres/embedded/LocalSecrets"
import * as KeyMac from "@tollgate/adapters-postgres/stores/KeyMac"
import * as PgApiKeys from "@tollgate/adapters-postgres/stores/PgApiKeys"
import * as PgBalances from "@tollgate/adapters-postgres/stores/PgBalances"
import * as PgBlacklist from "@tollgate/adapters-postgres/stores/PgBlacklist"
import * as PgCatalogs from "@tollgate/adapters-postgres/stores/PgCatalogs"
import * as PgCurrentCatalog from "@tollgate/adapters-postgres/stores/PgCurrentCatalog"
import * as PgCustomerKeys from "@tollgate/adapters-postgres/stores/PgCustomerKeys"
import * as PgCustomers from "@tollgate/adapters-postgres/stores/PgCustomers"
import * as PgDatabase from "@tollgate/adapters-postgres/stores/PgDatabase"
import * as PgImageRequests from "@tollgate/adapters-postgres/stores/PgImageRequests"
import * as PgKeyRing from "@tollgate/adapters-postgres/stores/PgKeyRing"
import * as PgLoginAttempts from "@tollgate/adapters-postgres/stores/PgLoginAttempts"
import * as PgMints from "@tollgate/adapters-postgres/stores/PgMints"
import * as PgNodes from "@tollgate/adapters-postgres/stores/PgNodes"
import * as PgNotifications from "@tollgate/adapters-postgres/stores/PgNotifications"
import * as PgOpenHolds from "@tollgate/adapters-postgres/stores/PgOpenHolds"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/stores/PgPaygAccounts"
import * as PgQuota from "@tollgate/adapters-postgres/stores/PgQuota"
import * as PgRankingsCache from "@tollgate/adapters-postgres/stores/PgRankingsCache"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/stores/PgRankingsHistory"
import * as PgResellers from "@tollgate/adapters-postgres/stores/PgResellers"
import * as PgSettledUsage from "@tollgate/adapters-postgres/stores/PgSettledUsage"
import * as PgTiers from "@tollgate/adapters-postgres/stores/PgTiers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/stores/PgTopUpOrders"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/stores/PgUsageRollUps"
import * as PgUsers from "@tollgate/adapters-postgres/stores/PgUsers"
import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as UndiciUpstreams from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import { CustomerPolicy } from "@tollgate/application/customer/CustomerPolicy"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import { foldUsage } from "@tollgate/application/operations/FoldUsage"
import { keepImages } from "@tollgate/application/operations/KeepImages"
import { keepNode } from "@tollgate/application/operations/KeepNode"
import { Database } from "@tollgate/application/ports/Database"
import { Nodes } from "@tollgate/application/ports/Nodes"
import { RankingsPolicy } from "@tollgate/application/rankings/RankingsPolicy"
import * as PaymentDesk from "@tollgate/application/topup/PaymentDesk"
import { TopUpPolicy } from "@tollgate/application/topup/TopUpPolicy"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Config } from "./Config.ts"
import * as Metrics from "./Metrics.ts"
import * as Payments from "./Payments.ts"
import { signingSecrets } from "./Signing.ts"
import { rootOf, StartFailed } from "./StartFailed.ts"

/** The database of `DATABASE_URL`, or our own in the data directory. */
const postgres = (config: Config) =>
  config.DATABASE_URL === undefined
    ? EmbeddedPostgres.layer({ directory: join(config.DATA_DIR, "postgres") }).pipe(
        Layer.mapError(({ message }) => new StartFailed({ message }))
      )
    : Layer.effect(
        PgSettings.PgSettings,
        Effect.mapError(
          PgSettings.fromUrl(config.DATABASE_URL),
          ({ reason }) => new StartFailed({ message: `DATABASE_URL: ${reason}` })
        )
      )

/** Up to date, or not served from: in production a person migrates, elsewhere the server does. */
const upToDate = (config: Config) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const database = yield* Database
      if (!config.production) {
        const applied = yield* database.migrate
        return applied.length > 0 ? yield* Effect.logInfo("migrated", { applied }) : undefined
      }
      const { pendingMigrations } = yield* database.state
      if (pendingMigrations.length > 0) {
        return yield* new StartFailed({
          message: `the database lacks ${pendingMigrations.join(", ")}; run: tollgate migrate`
        })
      }
    }).pipe(
      Effect.catchAllDefect((defect) => new StartFailed({ message: `the database cannot be used: ${rootOf(defect)}` }))
    )
  )

/** As it is set, or, in development, the one kept in the data directory. */
const secretOf = (config: Config, setting: "KEY_PEPPER" | "JWT_SECRET", file: "key-pepper" | "jwt-secret") => {
  const given = config[setting]
  if (given !== undefined) return Effect.succeed(given)
  return Effect.mapError(
    LocalSecrets.readOrCreate(config.DATA_DIR, file),
    ({ message }) => new StartFailed({ message })
  )
}

const keyMac = (config: Config) =>
  Layer.unwrapEffect(
    Effect.map(secretOf(config, "KEY_PEPPER", "key-pepper"), (pepper) =>
      KeyMac.layer({ prefix: config.KEY_PREFIX, peppers: new Map([[1, pepper]]), currentVersion: 1 })
    )
  )

/** What is signed here, and what is believed because of it. */
const signing = (config: Config) =>
  Layer.unwrapEffect(
    Effect.map(secretOf(config, "JWT_SECRET", "jwt-secret"), (secret) => {
      const secrets = signingSecrets(secret, config.JWT_SECRET_PREVIOUS)
      return Layer.mergeAll(
        JoseTokenSigner.layer({ ...secrets, issuer: config.SERVICE_NAME }),
        HmacCursorSealer.layer(secrets),
        QrLinks.layer(secrets)
      )
    })
  )

/** Who calls, and where we are reached. */
const addresses = ({ PUBLIC_BASE_URL, TRUSTED_PROXIES = "" }: Config) =>
  PublicAddress.layer(PUBLIC_BASE_URL).pipe(
    Layer.provideMerge(
      TrustedProxies.layer(Either.getOrElse(TrustedProxies.parse(TRUSTED_PROXIES), () => TrustedProxies.none))
    )
  )

const policies = (config: Config) =>
  Layer.mergeAll(
    Layer.succeed(TopUpPolicy, { bounds: config.topUpBounds }),
    Layer.succeed(CustomerPolicy, { link: config.CUSTOMER_LINK_POLICY })
  )

/**
 * What inference and the life of this node stand on has connections of its own: a flood of logins or mints, which wait
 * for each other's locks, must neither stop it nor make this node look dead.
 */
const vitalConnections = Layer.orDie(PgPool.layer({ maxConnections: 4 }))

/** Alive for as long as the layer is; leaving lets others settle what could not be settled here. */
const node = Layer.scopedDiscard(Effect.flatMap(Nodes, (nodes) => Effect.addFinalizer(() => nodes.leave))).pipe(
  Layer.provideMerge(PgNodes.layer),
  Layer.provide(vitalConnections)
)

const openHolds = ({ NODE_DEAD_AFTER_SECONDS }: Config) =>
  Layer.unwrapEffect(
    Effect.map(Nodes, ({ self }) => PgOpenHolds.layer({ nodeDeadAfterSeconds: NODE_DEAD_AFTER_SECONDS, sweeper: self }))
  ).pipe(Layer.provide(vitalConnections))

const resellerStores = Layer.mergeAll(
  PgResellers.layer,
  PgBlacklist.layer,
  PgLoginAttempts.layer,
  PgTopUpOrders.layer,
  PgQuota.layer,
  PgTiers.layer,
  PgMints.layer,
  PgCustomers.layer,
  PgCustomerKeys.layer,
  PgBalances.layer,
  PgSettledUsage.layer
)

const rankings = ({ RANKINGS_ENABLED }: Config) =>
  Layer.mergeAll(
    PgRankingsHistory.layer,
    PgRankingsCache.layer,
    PgUsageRollUps.layer,
    Layer.succeed(RankingsPolicy, { enabled: RANKINGS_ENABLED })
  )

const stores = (config: Config) =>
  Layer.mergeAll(
    resellerStores,
    PgUsers.layer,
    PgPaygAccounts.layer,
    PgApiKeys.layer,
    Layer.provide(PgKeyRing.layer(), vitalConnections),
    PgCurrentCatalog.layer(),
    openHolds(config),
    PgInferenceLedger.layer(),
    PgImageRequests.layer(),
    rankings(config)
  ).pipe(Layer.provideMerge(Layer.mergeAll(PgCatalogs.layer, PgNotifications.layer(), keyMac(config), node)))

const database = (config: Config) =>
  upToDate(config).pipe(
    Layer.provideMerge(PgDatabase.layer),
    Layer.provideMerge(Layer.orDie(PgPool.layer({ maxConnections: 10 }))),
    Layer.provideMerge(postgres(config))
  )

/** Every port of the application. */
export const ports = (config: Config, keys: UndiciUpstreams.ProviderKeys) =>
  Layer.mergeAll(
    UndiciUpstreams.layer({ keys }),
    GptTokenCounter.layer,
    OpenRequests.layer,
    RelayMetrics.layer,
    ArgonPasswordHasher.layer(),
    signing(config),
    addresses(config),
    policies(config),
    PaymentDesk.layer
  ).pipe(
    Layer.provideMerge(Payments.providers(config)),
    Layer.provideMerge(stores(config)),
    Layer.provideMerge(database(config))
  )

/** The inference protocols this server relays. A new one is one line. */
const relayed = [
  relayRoute("/v1/chat/completions", chatProtocol),
  relayRoute("/v1/messages", messagesProtocol),
  relayRoute("/v1/responses", responsesProtocol),
  countTokensRoute()
]

/** Outlives the server above it: a node that takes its time to drain must not be taken for dead. */
const keeper = ({ NODE_DEAD_AFTER_SECONDS }: Config) =>
  Layer.mergeAll(
    Layer.scopedDiscard(Effect.forkScoped(keepNode(Duration.seconds(NODE_DEAD_AFTER_SECONDS)))),
    Layer.scopedDiscard(Effect.forkScoped(keepImages())),
    Payments.keeper
  )

/** Also where no rankings are published: what is not folded piles up. */
const folder = Layer.scopedDiscard(Effect.forkScoped(foldUsage()))

/** What is named after the service. */
const named = ({ SERVICE_NAME }: Config) =>
  Layer.merge(
    Layer.succeed(ServiceTitle, SERVICE_NAME),
    Layer.succeed(ImageSettings.ImageSettings, { ...ImageSettings.defaults, serviceName: SERVICE_NAME })
  )

/** The public port, the metrics port, and the duties of a node. */
export const server = (config: Config) =>
  Layer.mergeAll(
    GatewayServer.layer(
      {
        ...GatewayOptions.defaults,
        host: config.HOST,
        port: config.PORT,
        serviceName: config.SERVICE_NAME,
        corsAllowOrigin: config.CORS_ORIGIN,
        keepaliveSeconds: config.KEEPALIVE_SECONDS,
        drainSeconds: config.DRAIN_SECONDS
      },
      relayed
    ).pipe(
      Layer.mapError(
        (error) =>
          new StartFailed({
            message: `${config.HOST}:${config.PORT} cannot be listened on (${rootOf(error)}); set HOST or PORT`
          })
      ),
      Layer.provide(GatewayApiLive.layer.pipe(Layer.provide(named(config)))),
      Layer.provide(InFlight.layer)
    ),
    Metrics.layer(config.METRICS_PORT)
  ).pipe(Layer.provide(Layer.merge(keeper(config), folder)))
