/**
 * Reads text files and catalog files. The server and the command line read a catalog file in the same way.
 */
import * as Fs from "node:fs/promises"
import { readJson } from "@tollgate/domain/validation/JsonText"
import * as Either from "effect/Either"

const MEBIBYTE = 1024 * 1024
const MAX_CATALOG_BYTES = 4 * MEBIBYTE

/**
 * Reads a text in UTF-8 without its byte order mark. Returns `undefined` if the file has more than `maxBytes` bytes.
 */
export const readTextFile = async (path: string, maxBytes: number): Promise<string | undefined> =>
  (await readAtMost(path, maxBytes))?.replace(/^\uFEFF/, "")

/**
 * Reads the JSON of a catalog file. Returns a description of the error, which begins with the path, if the file is too
 * large or is not valid JSON. Rejects if the file cannot be read.
 */
export const readCatalogJson = async (path: string): Promise<Either.Either<unknown, string>> => {
  const text = await readTextFile(path, MAX_CATALOG_BYTES)
  if (text === undefined) return Either.left(`${path} is larger than ${MAX_CATALOG_BYTES / MEBIBYTE} MiB`)
  return Either.mapLeft(readJson(text), ({ column, line, problem }) => `${path}:${line}:${column}: ${problem}`)
}

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
