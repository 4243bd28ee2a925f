/**
 * Reads a catalog file as JSON.
 */
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { CatalogFileInvalid } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { readJson } from "./JsonText.ts"

const MAX_BYTES = 4 * 1024 * 1024

export const readCatalogFile = (file: string): Effect.Effect<unknown, CatalogFileInvalid | CommandFailed> =>
  Effect.gen(function* () {
    const path = Path.resolve(shellDirectory(process.env), file)
    const text = yield* Effect.tryPromise({
      try: () => readAtMost(path, MAX_BYTES),
      catch: (error) =>
        new CommandFailed({
          exit: "usage",
          code: "file_unreadable",
          message: `Cannot read the file: ${error instanceof Error ? error.message : String(error)}`
        })
    })
    if (text === undefined) {
      return yield* new CatalogFileInvalid({ issues: [`${path} is larger than ${MAX_BYTES / 1024 / 1024} MiB`] })
    }
    return yield* Either.mapLeft(
      readJson(text.replace(/^\uFEFF/, "")),
      ({ column, line, problem }) => new CatalogFileInvalid({ issues: [`${path}:${line}:${column}: ${problem}`] })
    )
  })

/** Returns the current directory of the user's shell. A script that npm starts runs in the project root instead. */
const shellDirectory = ({ INIT_CWD, npm_lifecycle_event }: NodeJS.ProcessEnv): string =>
  npm_lifecycle_event === "tollgate" && INIT_CWD !== undefined ? INIT_CWD : process.cwd()

/**
 * Reads a file of at most `bytes` bytes. Returns `undefined` if the file is larger. Ignores the size that the file
 * system reports, because it is 0 for a pipe.
 */
const readAtMost = async (path: string, bytes: number): Promise<string | undefined> => {
  const handle = await Fs.open(path, "r")
  try {
    const buffer = Buffer.alloc(bytes + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (bytesRead === 0 || length > bytes) break
    }
    return length > bytes ? undefined : buffer.toString("utf8", 0, length)
  } finally {
    await handle.close()
  }
}
