/**
 * Keeps Postgres running as long as any process uses it, and no longer.
 *
 * The lifeline is a named pipe. Every process that uses the database holds it open for writing; a watchdog beside
 * Postgres reads it and learns that the last writer is gone when the pipe ends, whatever that process died of. Then
 * it stops Postgres. No data is written: only the open descriptor counts.
 */
import { execFile } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"

const run = promisify(execFile)

/** Opens a pipe that has a reader; `undefined` when it has none. */
const openToReader = (path: string): number | undefined => {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/** Whether a watchdog reads the lifeline: Postgres is running, and not about to stop. */
export const isWatched = (path: string): boolean => {
  const descriptor = openToReader(path)
  if (descriptor === undefined) return false
  closeSync(descriptor)
  return true
}

/** Holds a watched lifeline open until the scope ends. */
export const attach = (path: string): Effect.Effect<Option.Option<void>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => openToReader(path)),
      (descriptor) => Effect.sync(() => descriptor !== undefined && closeSync(descriptor))
    ),
    (descriptor) => (descriptor === undefined ? Option.none() : Option.some(undefined))
  )

export interface Lifeline {
  /** For the watchdog; close it here once the watchdog has it. */
  readonly reader: number
  readonly writer: number
}

/** A new lifeline with both its ends. */
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
