/**
 * What is kept, and the database it is kept in.
 */
import { join } from "node:path"
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import * as PgCurrentCatalog from "@tollgate/adapters-postgres/catalog/PgCurrentCatalog"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgBalances from "@tollgate/adapters-postgres/customer/PgBalances"
import * as PgCustomerKeys from "@tollgate/adapters-postgres/customer/PgCustomerKeys"
import * as PgCustomers from "@tollgate/adapters-postgres/customer/PgCustomers"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/customer/PgPaygAccounts"
import * as PgSettledUsage from "@tollgate/adapters-postgres/customer/PgSettledUsage"
import * as PgUsers from "@tollgate/adapters-postgres/customer/PgUsers"
import * as PgImageRequests from "@tollgate/adapters-postgres/images/PgImageRequests"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgMints from "@tollgate/adapters-postgres/mint/PgMints"
import * as PgTiers from "@tollgate/adapters-postgres/mint/PgTiers"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import * as PgRankingsCache from "@tollgate/adapters-postgres/rankings/PgRankingsCache"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/rankings/PgRankingsHistory"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import * as PgBlacklist from "@tollgate/adapters-postgres/reseller/PgBlacklist"
import * as PgLoginAttempts from "@tollgate/adapters-postgres/reseller/PgLoginAttempts"
import * as PgQuota from "@tollgate/adapters-postgres/reseller/PgQuota"
import * as PgResellers from "@tollgate/adapters-postgres/reseller/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/topup/PgTopUpOrders"
import { Database } from "@tollgate/application/operations/Database"
import { Nodes } from "@tollgate/application/operations/Nodes"
import { RankingsPolicy } from "@tollgate/application/rankings/RankingsPolicy"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Config } from "./Config.ts"
import { secretOf } from "./Secrets.ts"
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

const keyMac = (config: Config) =>
  Layer.unwrapEffect(
    Effect.map(secretOf(config, "KEY_PEPPER", "key-pepper"), (pepper) =>
      KeyMac.layer({ prefix: config.KEY_PREFIX, peppers: new Map([[1, pepper]]), currentVersion: 1 })
    )
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

/** What is kept in Postgres, but for payments in flight. */
const kept = (config: Config) =>
  Layer.mergeAll(
    resellerStores,
    PgUsers.layer,
    PgPaygAccounts.layer,
    PgApiKeys.layer,
    Layer.provide(PgApiKeyAuthenticator.layer(), vitalConnections),
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

/** Every port that is a store, over its database. */
export const stores = (config: Config) => kept(config).pipe(Layer.provideMerge(database(config)))
