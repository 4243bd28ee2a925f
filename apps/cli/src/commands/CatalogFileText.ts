/**
 * Reads catalog files and price files as JSON, and the exports of payment providers as text.
 */
import * as Path from "node:path"
import { readCatalogJson, readTextFile } from "@tollgate/composition/TextFile"
import { CatalogFileInvalid } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../exit/CommandFailed.ts"

const MEBIBYTE = 1024 * 1024
/** The price files of models.dev and LiteLLM have 1 to 2 MiB, so this limit leaves room for growth. */
const MAX_PRICE_BYTES = 32 * MEBIBYTE
const MAX_EXPORT_BYTES = 64 * MEBIBYTE

export const readCatalogFile = (file: string): Effect.Effect<unknown, CatalogFileInvalid | CommandFailed> =>
  Effect.flatMap(
    reading(() => readCatalogJson(pathOf(file))),
    Effect.mapError((issue) => new CatalogFileInvalid({ issues: [issue] }))
  )

/**
 * Reads a price file. Such a file can contain a model twice; the last entry is used. Fails with a description of the
 * problem.
 */
export const readPriceFile = (file: string): Effect.Effect<unknown, string | CommandFailed> =>
  Effect.flatMap(readText(pathOf(file), MAX_PRICE_BYTES), (text) =>
    text === undefined
      ? Effect.fail(`the file is larger than ${MAX_PRICE_BYTES / MEBIBYTE} MiB`)
      : Effect.try({ try: () => JSON.parse(text) as unknown, catch: () => "the file is not valid JSON" })
  )

/**
 * Reads a list of transactions that a payment provider exports. Refuses a spreadsheet and a text in UTF-16, in which no
 * order number would be found. Both contain zero bytes.
 */
export const readExport = (file: string): Effect.Effect<string, CommandFailed> =>
  Effect.flatMap(readText(pathOf(file), MAX_EXPORT_BYTES), (text) => {
    if (text === undefined) {
      const limit = `${MAX_EXPORT_BYTES / MEBIBYTE} MiB`
      return unusable("file_too_large", `The file is larger than ${limit}; split it.`)
    }
    if (text.includes("\0")) {
      return unusable("file_not_text", "The file is not a text in UTF-8. Export the transactions as CSV in UTF-8.")
    }
    return Effect.succeed(text)
  })

const unusable = (code: string, message: string) => new CommandFailed({ exit: "usage", code, message })

/** Returns the absolute path of a file that the operator names relative to the current directory of the shell. */
export const pathOf = (file: string): string => Path.resolve(shellDirectory(process.env), file)

const readText = (path: string, maxBytes: number): Effect.Effect<string | undefined, CommandFailed> =>
  reading(() => readTextFile(path, maxBytes))

const reading = <A>(read: () => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.tryPromise({
    try: read,
    catch: (error) =>
      new CommandFailed({
        exit: "usage",
        code: "file_unreadable",
        message: `Cannot read the file: ${error instanceof Error ? error.message : String(error)}`
      })
  })

/** Returns the current directory of the operator's shell. A script that npm starts runs in the project root instead. */
const shellDirectory = ({ INIT_CWD, npm_lifecycle_event }: NodeJS.ProcessEnv): string =>
  npm_lifecycle_event === "tollgate" && INIT_CWD !== undefined ? INIT_CWD : process.cwd()
