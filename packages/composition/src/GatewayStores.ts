/**
 * Builds the stores of a server and their connection pools.
 */
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import * as PgCurrentCatalog from "@tollgate/adapters-postgres/catalog/PgCurrentCatalog"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgBalances from "@tollgate/adapters-postgres/customer/PgBalances"
import * as PgCustomers from "@tollgate/adapters-postgres/customer/PgCustomers"
import * as PgFunds from "@tollgate/adapters-postgres/customer/PgFunds"
import * as PgKeyLimits from "@tollgate/adapters-postgres/customer/PgKeyLimits"
import * as PgKeyLists from "@tollgate/adapters-postgres/customer/PgKeyLists"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/customer/PgPaygAccounts"
import * as PgSettledUsage from "@tollgate/adapters-postgres/customer/PgSettledUsage"
import * as PgUsers from "@tollgate/adapters-postgres/customer/PgUsers"
import * as PgImageRequests from "@tollgate/adapters-postgres/images/PgImageRequests"
import * as PgImageReviews from "@tollgate/adapters-postgres/images/PgImageReviews"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgMintHistory from "@tollgate/adapters-postgres/mint/PgMintHistory"
import * as PgMints from "@tollgate/adapters-postgres/mint/PgMints"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import * as PgNodeList from "@tollgate/adapters-postgres/operations/PgNodeList"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import * as PgAuditLogEntries from "@tollgate/adapters-postgres/operator/PgAuditLogEntries"
import * as PgAuditRuns from "@tollgate/adapters-postgres/operator/PgAuditRuns"
import * as PgOperatorSessions from "@tollgate/adapters-postgres/operator/PgOperatorSessions"
import * as PgRankingsCache from "@tollgate/adapters-postgres/rankings/PgRankingsCache"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/rankings/PgRankingsHistory"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import * as PgAttempts from "@tollgate/adapters-postgres/reseller/PgAttempts"
import * as PgBlacklist from "@tollgate/adapters-postgres/reseller/PgBlacklist"
import * as PgQuota from "@tollgate/adapters-postgres/reseller/PgQuota"
import * as PgQuotaMovements from "@tollgate/adapters-postgres/reseller/PgQuotaMovements"
import * as PgResellers from "@tollgate/adapters-postgres/reseller/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/topup/PgTopUpOrders"
import * as PgBalanceWatch from "@tollgate/adapters-postgres/webhook/PgBalanceWatch"
import * as PgWebhookDeliveries from "@tollgate/adapters-postgres/webhook/PgWebhookDeliveries"
import * as PgWebhookEndpoints from "@tollgate/adapters-postgres/webhook/PgWebhookEndpoints"
import { Nodes } from "@tollgate/application/operations/Nodes"
import { RankingsPolicy } from "@tollgate/application/rankings/ReadRankings"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { migratedSchema, type PostgresLayer, refuseIncompatibleSchema } from "./Postgres.ts"
import { keyMacLayer } from "./Secrets.ts"
import type { ServerConfig } from "./ServerConfig.ts"
import { StartFailed } from "./StartFailed.ts"

/**
 * Connections reserved for the API keys and funds of requests, the list of holds, and the start and end of the node.
 * Many logins or mints that wait for locks can occupy the pool of the other stores, but they must not delay inference.
 */
const reservedConnections = Layer.orDie(PgPool.layer({ name: "reserved", maxConnections: 4 }))

/**
 * Builds the store of nodes. Deregisters this node at shutdown, so that other nodes settle its open holds without
 * waiting until it counts as dead. Checks the schema again after this node is registered: a migration that was applied
 * shortly before could not take this node into account.
 */
const node = Layer.scopedDiscard(
  Effect.gen(function* () {
    const nodes = yield* Nodes
    yield* Effect.addFinalizer(() => nodes.leave)
    yield* refuseIncompatibleSchema
  })
).pipe(Layer.provideMerge(PgNodes.layer), Layer.provide(reservedConnections))

const openHolds = ({ NODE_DEAD_AFTER_SECONDS }: ServerConfig) =>
  Layer.provide(PgOpenHolds.layer({ nodeDeadAfterSeconds: NODE_DEAD_AFTER_SECONDS }), reservedConnections)

/** The stores that the reseller API uses. */
export const resellerStores = Layer.mergeAll(
  PgResellers.layer,
  PgBlacklist.layer,
  PgAttempts.layer,
  PgTopUpOrders.layer,
  PgQuota.layer,
  PgQuotaMovements.layer,
  PgMints.tiersLayer,
  PgMints.layer,
  PgMintHistory.layer,
  PgCustomers.layer,
  PgApiKeys.customerKeysLayer,
  PgKeyLists.layer,
  PgKeyLimits.layer,
  PgBalances.layer,
  PgSettledUsage.layer,
  PgWebhookEndpoints.layer,
  PgWebhookDeliveries.layer
)

/** The stores that, in a server, only the operator API uses. */
export const operatorStores = ({ NODE_DEAD_AFTER_SECONDS }: Pick<ServerConfig, "NODE_DEAD_AFTER_SECONDS">) =>
  Layer.mergeAll(
    PgOperatorSessions.layer,
    PgAuditLogEntries.layer,
    PgImageReviews.layer,
    PgNodeList.layer({ nodeDeadAfterSeconds: NODE_DEAD_AFTER_SECONDS }),
    Layer.provide(PgAuditRuns.layer, PgAudit.layer)
  )

/** The stores of users, their pay-as-you-go balances and their API keys. */
export const accountStores = Layer.mergeAll(PgUsers.layer, PgPaygAccounts.layer, PgApiKeys.layer)

/** The stores that inference and image requests use, except the API key authenticator and the check of funds. */
export const requestStores = Layer.mergeAll(
  PgCurrentCatalog.layer(),
  PgInferenceLedger.layer(),
  PgImageRequests.layer()
)

const rankings = ({ RANKINGS_ENABLED }: ServerConfig) =>
  Layer.mergeAll(
    PgRankingsHistory.layer,
    PgRankingsCache.layer,
    PgUsageRollUps.layer,
    Layer.succeed(RankingsPolicy, { enabled: RANKINGS_ENABLED })
  )

const keyMac = (config: ServerConfig) =>
  Layer.mapError(keyMacLayer(config), ({ message }) => new StartFailed({ message }))

/** Builds the shared connection pool of a process, and checks or migrates the schema. */
export const database = (config: ServerConfig, postgres: PostgresLayer) =>
  migratedSchema(config).pipe(
    Layer.provideMerge(PgDatabase.layer),
    Layer.provideMerge(Layer.orDie(PgPool.sharedLayer({ name: "shared", maxConnections: 10 }))),
    Layer.provideMerge(postgres)
  )

/** Builds every store of a server on its database. */
export const gatewayStores = (config: ServerConfig, postgres: PostgresLayer) =>
  Layer.mergeAll(
    resellerStores,
    accountStores,
    operatorStores(config),
    requestStores,
    Layer.provide(Layer.merge(PgApiKeyAuthenticator.layer(), PgFunds.layer), reservedConnections),
    openHolds(config),
    PgBalanceWatch.layer,
    rankings(config)
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(PgCatalogs.layer, PgNotifications.layer(), keyMac(config), node)),
    Layer.provideMerge(database(config, postgres))
  )

/**
 * Builds the stores that prepare a deployment before it serves: the catalog, and the customer and reseller of the demo.
 * The primary process uses these stores. The primary process is not a node, because it serves no requests.
 */
export const preparationStores = (config: ServerConfig) =>
  Layer.mergeAll(resellerStores, accountStores, PgCurrentCatalog.layer(), PgApiKeyAuthenticator.layer()).pipe(
    Layer.provideMerge(Layer.mergeAll(PgCatalogs.layer, PgNotifications.layer(), keyMac(config)))
  )
