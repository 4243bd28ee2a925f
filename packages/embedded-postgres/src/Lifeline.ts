/**
 * Keeps Postgres running exactly as long as any process uses it.
 *
 * The lifeline is a named pipe. Every process that uses the database holds the pipe open for writing. A watchdog next
 * to Postgres reads the pipe. The pipe ends when the last writer has exited, for whatever reason, and the watchdog then
 * stops Postgres. No data is written: only the open descriptor counts.
 */
import { execFile } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"

const run = promisify(execFile)

/** Opens a pipe for writing; returns `undefined` if the pipe has no reader. */
const openToReader = (path: string): number | undefined => {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/** Returns whether a watchdog reads the lifeline, that is, whether Postgres is running and not about to stop. */
export const isWatched = (path: string): boolean => {
  const descriptor = openToReader(path)
  if (descriptor === undefined) return false
  closeSync(descriptor)
  return true
}

/** Holds the lifeline open until the scope ends. Returns none if no watchdog reads it. */
export const attach = (path: string): Effect.Effect<Option.Option<void>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => openToReader(path)),
      (descriptor) => Effect.sync(() => descriptor !== undefined && closeSync(descriptor))
    ),
    (descriptor) => (descriptor === undefined ? Option.none() : Option.some(undefined))
  )

export interface Lifeline {
  /** The descriptor that the watchdog inherits. This process closes it once the watchdog runs. */
  readonly reader: number
  readonly writer: number
}

/** Creates a lifeline and opens both ends. */
export const create = (path: string): Effect.Effect<Lifeline, EmbeddedPostgresFailed> =>
  step("cannot create the lifeline of Postgres", async () => {
    await run("mkfifo", ["-m", "600", path])
    // Opening one end of a pipe blocks until the other end is open; this temporary descriptor opens both.
    const both = openSync(path, constants.O_RDWR)
    try {
      const reader = openSync(path, constants.O_RDONLY)
      const writer = openSync(path, constants.O_WRONLY)
      return { reader, writer }
    } finally {
      closeSync(both)
    }
  })
