/**
 * What commands run on: the ports, over the database that the environment names.
 */
import { join } from "node:path"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/adapters-postgres/embedded/EmbeddedPostgres"
import * as LocalSecrets from "@tollgate/adapters-postgres/embedded/LocalSecrets"
import * as KeyMac from "@tollgate/adapters-postgres/stores/KeyMac"
import * as PgApiKeys from "@tollgate/adapters-postgres/stores/PgApiKeys"
import * as PgBlacklist from "@tollgate/adapters-postgres/stores/PgBlacklist"
import * as PgBooks from "@tollgate/adapters-postgres/stores/PgBooks"
import * as PgCatalogs from "@tollgate/adapters-postgres/stores/PgCatalogs"
import * as PgCustomers from "@tollgate/adapters-postgres/stores/PgCustomers"
import * as PgDatabase from "@tollgate/adapters-postgres/stores/PgDatabase"
import * as PgImageReviews from "@tollgate/adapters-postgres/stores/PgImageReviews"
import * as PgOpenHolds from "@tollgate/adapters-postgres/stores/PgOpenHolds"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/stores/PgPaygAccounts"
import * as PgQuota from "@tollgate/adapters-postgres/stores/PgQuota"
import * as PgResellers from "@tollgate/adapters-postgres/stores/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/stores/PgTopUpOrders"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/stores/PgUsageRollUps"
import * as PgUsers from "@tollgate/adapters-postgres/stores/PgUsers"
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
  PgBooks.layer,
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
