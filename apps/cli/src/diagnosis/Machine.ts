/**
 * Checks the data directory and the key pepper, which is the secret of the HMAC under which API keys are stored. These
 * checks do not need the database.
 */
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { type Finding, fail, ok, warn } from "@tollgate/application/operator/Finding"
import * as Effect from "effect/Effect"
import { Settings } from "../runtime/Settings.ts"

export const machineFindings: Effect.Effect<ReadonlyArray<Finding>, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  // In production with DATABASE_URL, no program uses the directory, and in a container it is not writable.
  const usesDirectory = settings.NODE_ENV !== "production" || settings.DATABASE_URL === undefined
  return [...(usesDirectory ? [yield* dataDirectory(resolve(settings.DATA_DIR))] : []), keyPepper(settings)]
})

const dataDirectory = (directory: string): Effect.Effect<Finding> =>
  Effect.map(isWritable(directory), (writable) =>
    writable
      ? ok("data directory", `${directory} is writable`)
      : fail("data directory", `${directory} is not writable`, "Set DATA_DIR to a writable directory.")
  )

const keyPepper = (settings: typeof Settings.Service): Finding => {
  if (settings.KEY_PEPPER !== undefined) return ok("key pepper", "KEY_PEPPER is set")
  return settings.NODE_ENV === "production"
    ? warn(
        "key pepper",
        "KEY_PEPPER is not set in this shell",
        "Keys cannot be created from this shell. Set KEY_PEPPER to the value that the servers use."
      )
    : ok("key pepper", "KEY_PEPPER is not set; development uses a pepper that is generated into the data directory")
}

/**
 * Returns whether a directory is writable. A missing directory counts as writable if its nearest existing parent is
 * writable.
 */
const isWritable = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(directory, constants.W_OK | constants.X_OK).then(
      () => true as const,
      (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? ("missing" as const) : (false as const))
    )
  ).pipe(Effect.flatMap((found) => (found === "missing" ? isWritable(dirname(directory)) : Effect.succeed(found))))
