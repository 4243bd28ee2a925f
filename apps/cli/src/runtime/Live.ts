/**
 * What commands run on: the ports, over the database that the environment names.
 */
import { join } from "node:path"
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgCustomers from "@tollgate/adapters-postgres/customer/PgCustomers"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/customer/PgPaygAccounts"
import * as PgUsers from "@tollgate/adapters-postgres/customer/PgUsers"
import * as PgImageReviews from "@tollgate/adapters-postgres/images/PgImageReviews"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import * as PgBlacklist from "@tollgate/adapters-postgres/reseller/PgBlacklist"
import * as PgQuota from "@tollgate/adapters-postgres/reseller/PgQuota"
import * as PgResellers from "@tollgate/adapters-postgres/reseller/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/topup/PgTopUpOrders"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import * as LocalSecrets from "@tollgate/embedded-postgres/LocalSecrets"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CommandFailed } from "./CommandFailed.ts"
import { reachDatabase, readyDatabase } from "./ReachDatabase.ts"
import * as Settings from "./Settings.ts"

export const settings = Settings.layer

/** The database of `DATABASE_URL`, or the embedded one: joined where a server runs it, started for the command where not. */
const postgres = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { databaseUrl, dataDir } = yield* Settings.Settings
    if (databaseUrl !== undefined) {
      return PgSettings.layer(
        yield* Effect.mapError(PgSettings.fromUrl(databaseUrl), ({ reason }) =>
          broken("invalid_settings", `DATABASE_URL cannot be used: ${reason}.`)
        )
      )
    }
    return EmbeddedPostgres.layer({ directory: join(dataDir, "postgres") }).pipe(
      Layer.mapError(({ message }) => broken("database_unreachable", message))
    )
  })
)

const broken = (code: string, message: string) => new CommandFailed({ exit: "failed", code, message })

/** A command asks one thing after the other. */
const pool = Layer.orDie(PgPool.layer({ maxConnections: 3 }))

const openHolds = Layer.unwrapEffect(
  Effect.map(Settings.Settings, ({ nodeDeadAfterSeconds }) => PgOpenHolds.layer({ nodeDeadAfterSeconds }))
)

const stores = Layer.mergeAll(
  PgDatabase.layer,
  PgUsers.layer,
  PgPaygAccounts.layer,
  PgCatalogs.layer,
  PgAudit.layer,
  PgResellers.layer,
  PgBlacklist.layer,
  PgQuota.layer,
  PgTopUpOrders.layer,
  PgCustomers.layer,
  PgUsageRollUps.layer,
  PgImageReviews.layer,
  openHolds
)

/** Everything, without having asked the database anything yet. */
export const opened = stores.pipe(Layer.provideMerge(pool), Layer.provide(postgres), Layer.provideMerge(settings))

/** The database answers. */
export const connected = Layer.provideMerge(Layer.effectDiscard(reachDatabase), opened)

/** The database has the tables this version works with. */
export const ready = Layer.provideMerge(Layer.effectDiscard(readyDatabase), opened)

const keyMac = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { dataDir, keyPepper, keyPrefix, production } = yield* Settings.Settings
    // Listing and revoking need no pepper; making a key asks for it before it gets here.
    if (keyPepper === undefined && production) {
      const missing = () => {
        throw new Error("there is no key pepper")
      }
      return Layer.succeed(KeyMac.KeyMac, { prefix: keyPrefix, seal: missing, verify: missing })
    }
    const pepper =
      keyPepper ??
      (yield* Effect.mapError(LocalSecrets.readOrCreate(dataDir, "key-pepper"), ({ message }) =>
        broken("invalid_settings", `The key pepper cannot be used: ${message}`)
      ))
    return KeyMac.layer({ prefix: keyPrefix, peppers: new Map([[1, pepper]]), currentVersion: 1 })
  })
)

/** The same, with keys. */
export const readyForKeys = PgApiKeys.layer.pipe(Layer.provide(keyMac), Layer.provideMerge(ready))

/** The providers of payments. */
export const providers = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("./Payments.ts")),
    ({ providers }) => providers
  )
)
