/**
 * The secrets of this installation.
 */
import * as LocalSecrets from "@tollgate/embedded-postgres/LocalSecrets"
import * as Effect from "effect/Effect"
import type { Config } from "./Config.ts"
import { StartFailed } from "./StartFailed.ts"

/** As it is set, or, in development, the one kept in the data directory. */
export const secretOf = (config: Config, setting: "KEY_PEPPER" | "JWT_SECRET", file: "key-pepper" | "jwt-secret") => {
  const given = config[setting]
  if (given !== undefined) return Effect.succeed(given)
  return Effect.mapError(
    LocalSecrets.readOrCreate(config.DATA_DIR, file),
    ({ message }) => new StartFailed({ message })
  )
}
