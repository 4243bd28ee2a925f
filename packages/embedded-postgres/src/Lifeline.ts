/**
 * Keeps Postgres running while at least one process uses it.
 *
 * The lifeline is a named pipe. Every process that uses Postgres keeps the pipe open for writing, but writes no data. A
 * watchdog process reads the pipe. The read ends when the last writer has closed the pipe or has exited, even if that
 * writer was killed. The watchdog then stops Postgres.
 */
import { execFile } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"

const run = promisify(execFile)

/**
 * Opens a pipe for writing and returns the descriptor. Returns `undefined` if no process reads the pipe, or if the pipe
 * cannot be opened.
 */
const openToReader = (path: string): number | undefined => {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/**
 * Returns whether a watchdog reads the lifeline. A watchdog reads it from the start of Postgres until the last writer
 * has closed the lifeline, or until Postgres has exited.
 */
export const isWatched = (path: string): boolean => {
  const descriptor = openToReader(path)
  if (descriptor === undefined) return false
  closeSync(descriptor)
  return true
}

/**
 * Returns true if the pipe exists and no process has it open for reading. Unlike {@link isWatched}, returns false in
 * case of doubt, for example if the pipe belongs to another user.
 */
export const isAbandoned = (path: string): boolean => {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK))
    return false
  } catch (error) {
    return codeOf(error) === "ENXIO"
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

/** Keeps the lifeline open until the scope ends. Returns none if no watchdog reads the lifeline. */
export const attach = (path: string): Effect.Effect<Option.Option<void>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => openToReader(path)),
      (descriptor) => Effect.sync(() => descriptor !== undefined && closeSync(descriptor))
    ),
    (descriptor) => (descriptor === undefined ? Option.none() : Option.some(undefined))
  )

export interface Lifeline {
  /** The descriptor that the watchdog inherits. This process closes its copy after the start of the watchdog. */
  readonly reader: number
  readonly writer: number
}

/** Creates a lifeline and opens both ends. */
export const create = (path: string): Effect.Effect<Lifeline, EmbeddedPostgresFailed> =>
  step("cannot create the lifeline of Postgres", async () => {
    await run("mkfifo", ["-m", "600", path])
    // Opening one end of a pipe blocks until the other end is open. This temporary descriptor opens both ends.
    const both = openSync(path, constants.O_RDWR)
    try {
      const reader = openSync(path, constants.O_RDONLY)
      const writer = openSync(path, constants.O_WRONLY)
      return { reader, writer }
    } finally {
      closeSync(both)
    }
  })
