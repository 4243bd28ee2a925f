/**
 * Layers with the ports of the commands, for the database that the environment configures.
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

/** Every store. Building this layer sends no statement to the database. */
export const opened = Layer.provideMerge(stores, settings)

/** Every store, after a check that the database responds. */
export const connected = Layer.provideMerge(Layer.effectDiscard(reachDatabase), opened)

/** Every store, after a check that the schema of the database is up to date. */
export const ready = Layer.provideMerge(Layer.effectDiscard(readyDatabase), opened)

const keys = Layer.unwrapEffect(Effect.map(Settings.Settings, operatorKeys)).pipe(
  Layer.mapError(({ message }) => failed("invalid_settings", `The key pepper cannot be used: ${message}`))
)

/** The same as `ready`, with the API key store. */
export const readyForKeys = Layer.provideMerge(keys, ready)

/** The payment providers. The adapters are loaded only for commands that call providers. */
export const providers = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("./Payments.ts")),
    ({ providers }) => providers
  )
)
