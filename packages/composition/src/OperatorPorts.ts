/**
 * Builds the ports of the CLI: the stores that operators use, in the database that all nodes share.
 */
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgCustomers from "@tollgate/adapters-postgres/customer/PgCustomers"
import * as PgKeyLimits from "@tollgate/adapters-postgres/customer/PgKeyLimits"
import * as PgKeyLists from "@tollgate/adapters-postgres/customer/PgKeyLists"
import * as PgKeyPeppers from "@tollgate/adapters-postgres/customer/PgKeyPeppers"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/customer/PgPaygAccounts"
import * as PgSettledUsage from "@tollgate/adapters-postgres/customer/PgSettledUsage"
import * as PgUsers from "@tollgate/adapters-postgres/customer/PgUsers"
import * as PgImageReviews from "@tollgate/adapters-postgres/images/PgImageReviews"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgMintHistory from "@tollgate/adapters-postgres/mint/PgMintHistory"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import * as PgRequestRecords from "@tollgate/adapters-postgres/operations/PgRequestRecords"
import * as PgSpendReports from "@tollgate/adapters-postgres/operations/PgSpendReports"
import * as PgOperatorSessions from "@tollgate/adapters-postgres/operator/PgOperatorSessions"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import * as PgBlacklist from "@tollgate/adapters-postgres/reseller/PgBlacklist"
import * as PgQuota from "@tollgate/adapters-postgres/reseller/PgQuota"
import * as PgResellers from "@tollgate/adapters-postgres/reseller/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/topup/PgTopUpOrders"
import * as PgTopUpRecovery from "@tollgate/adapters-postgres/topup/PgTopUpRecovery"
import * as PgWebhookDeliveries from "@tollgate/adapters-postgres/webhook/PgWebhookDeliveries"
import * as PgWebhookEndpoints from "@tollgate/adapters-postgres/webhook/PgWebhookEndpoints"
import * as AllowedTargets from "@tollgate/adapters-upstream/webhook/AllowedTargets"
import { type Environment, readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { DeploymentVariables } from "./DeploymentVariables.ts"
import type { PostgresLayer } from "./Postgres.ts"
import { keyMacLayer, type LocalSecretUnusable, whiteSpaceErrors } from "./Secrets.ts"

/** The variables of `DeploymentVariables` that CLI commands read. */
const OperatorVariables = DeploymentVariables.pick(
  "NODE_ENV",
  "HOST",
  "PORT",
  "DATABASE_URL",
  "DATA_DIR",
  "KEY_PEPPER",
  "KEY_PEPPER_PREVIOUS",
  "KEY_PREFIX",
  "OPERATOR_CONSOLE",
  "WEBHOOK_PRIVATE_ORIGINS",
  "NODE_DEAD_AFTER_SECONDS"
)
export type OperatorSettings = typeof OperatorVariables.Type

/** Reads the settings, or returns one error line per wrong variable. */
export const readOperatorSettings = (
  environment: Environment
): Either.Either<OperatorSettings, ReadonlyArray<string>> =>
  Either.flatMap(readSettings(OperatorVariables)(environment), (settings) => {
    const errors = whiteSpaceErrors(settings)
    return errors.length === 0 ? Either.right(settings) : Either.left(errors)
  })

/** A few connections are enough: most commands run one statement at a time. */
const pool = Layer.orDie(PgPool.layer({ maxConnections: 3 }))

/** Builds the stores without sending a statement to the database. */
export const operatorStores = (settings: OperatorSettings, postgres: PostgresLayer) =>
  Layer.mergeAll(
    PgDatabase.layer,
    PgUsers.layer,
    PgPaygAccounts.layer,
    PgKeyLimits.layer,
    keyPeppers(settings),
    PgCatalogs.layer,
    PgAudit.layer,
    PgResellers.layer,
    PgBlacklist.layer,
    PgQuota.layer,
    PgTopUpOrders.layer,
    PgTopUpRecovery.layer,
    PgCustomers.layer,
    PgSettledUsage.layer,
    PgMintHistory.layer,
    PgUsageRollUps.layer,
    PgImageReviews.layer,
    PgSpendReports.layer,
    PgRequestRecords.layer({ nodeDeadAfterSeconds: settings.NODE_DEAD_AFTER_SECONDS }),
    PgOperatorSessions.layer,
    PgOpenHolds.layer({ nodeDeadAfterSeconds: settings.NODE_DEAD_AFTER_SECONDS })
  ).pipe(Layer.provideMerge(pool), Layer.provide(postgres))

/**
 * Builds the stores of API keys and webhooks, which need the pepper. In production without KEY_PEPPER, keys can be
 * listed and revoked, and endpoints can be listed and removed, but neither can be created.
 */
export const operatorKeys = (settings: OperatorSettings) =>
  Layer.mergeAll(PgApiKeys.layer, PgKeyLists.layer, PgWebhookEndpoints.layer, PgWebhookDeliveries.layer).pipe(
    Layer.provide(keyMac(settings)),
    Layer.merge(AllowedTargets.layer(new Set(settings.WEBHOOK_PRIVATE_ORIGINS)))
  )

/**
 * Builds the port that counts keys by pepper. Without KEY_PEPPER no key is counted. The generated pepper in the data
 * directory is not used, because `readOrCreate` would create a missing file.
 */
const keyPeppers = ({ KEY_PEPPER, KEY_PEPPER_PREVIOUS, KEY_PREFIX }: OperatorSettings) =>
  KEY_PEPPER === undefined
    ? PgKeyPeppers.unknownLayer
    : Layer.provide(
        PgKeyPeppers.layer,
        KeyMac.layer({ prefix: KEY_PREFIX, pepper: KEY_PEPPER, previousPepper: KEY_PEPPER_PREVIOUS })
      )

const keyMac = (settings: OperatorSettings): Layer.Layer<KeyMac.KeyMac, LocalSecretUnusable> => {
  if (settings.KEY_PEPPER !== undefined || settings.NODE_ENV !== "production") return keyMacLayer(settings)
  const missing = () => {
    throw new Error("KEY_PEPPER is not set")
  }
  const { KEY_PREFIX: prefix } = settings
  return Layer.succeed(KeyMac.KeyMac, {
    prefix,
    pepperName: "",
    previousPepperName: undefined,
    pepperVersions: [],
    seal: missing,
    verify: missing,
    derive: missing
  })
}
