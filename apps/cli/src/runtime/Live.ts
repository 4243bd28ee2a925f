/**
 * Builds the layers that provide the ports of the commands. The environment variables select the database.
 */
import { operatorKeys, operatorStores } from "@tollgate/composition/OperatorPorts"
import { fromUrl } from "@tollgate/composition/Postgres"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { embeddedPostgres } from "./Development.ts"
import { reachDatabase, readyDatabase } from "./ReachDatabase.ts"
import * as Settings from "./Settings.ts"

export const settings = Settings.layer

const failed = (code: string, message: string) => new CommandFailed({ exit: "failed", code, message })

const stores = Layer.unwrapEffect(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const { DATABASE_URL, DATA_DIR } = settings
    const [postgres, code] =
      DATABASE_URL === undefined
        ? [embeddedPostgres(DATA_DIR), "database_unreachable"]
        : [fromUrl(DATABASE_URL), "invalid_settings"]
    return Layer.mapError(operatorStores(settings, postgres), ({ message }) => failed(code, message))
  })
)

/**
 * Provides the stores, except those that {@link readyForKeys} adds. Building this layer sends no statement to the
 * database.
 */
export const opened = Layer.provideMerge(stores, settings)

/** Provides the stores of {@link opened}, after checking that the database responds. */
export const connected = Layer.provideMerge(Layer.effectDiscard(reachDatabase), opened)

/**
 * Provides the stores of {@link opened}, after checking that the schema of the database is up to date. Migrates an
 * embedded Postgres outside production.
 */
export const ready = Layer.provideMerge(Layer.effectDiscard(readyDatabase), opened)

const keys = Layer.unwrapEffect(Effect.map(Settings.Settings, operatorKeys)).pipe(
  Layer.mapError(({ message }) => failed("invalid_settings", `The key pepper cannot be used: ${message}`))
)

/** Provides the stores of API keys and webhooks in addition to the stores of `ready`. */
export const readyForKeys = Layer.provideMerge(keys, ready)

/** Provides the payment providers. Their adapters are loaded only for a command that needs them. */
export const providers = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("./Payments.ts")),
    ({ providers }) => providers
  )
)

/** Returns the base URL under which clients reach the servers; undefined if it is not configured. */
export const publicBaseUrl = Effect.flatMap(
  Effect.promise(() => import("./Payments.ts")),
  ({ publicBaseUrl }) => publicBaseUrl
)
