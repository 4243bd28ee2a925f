/**
 * Runs command lines for tests: in this process, or in a separate process.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { Console, Effect, Layer } from "effect"
import { expect } from "vitest"
import { runCommand } from "../../apps/cli/src/RunCommand.ts"
import { bundled, CLI } from "../support/Bundle.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

export const AN_ID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
export const A_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** Provides a migrated database, and makes the commands in this process use it. */
export const layer = Layer.effectDiscard(Effect.map(TestDatabase.TestDatabase, ({ url }) => useDatabase(url))).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

/** Makes the commands in this process use the database at this URL, a pepper for tests, and no payment simulator. */
export const useDatabase = (url: string): void => {
  process.env.DATABASE_URL = url
  process.env.KEY_PEPPER = "a pepper for tests only, longer than the minimum"
  // The commands must not use a payment simulator that a developer runs on this machine.
  process.env.PAYMENTS_SIMULATOR = "off"
}

export const audited = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ actor: string; action: string; reason: string; detail: unknown }>`
    SELECT actor, action, reason, detail FROM audit_log ORDER BY seq`
)

export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export const documentOf = ({ stdout }: Printed): unknown => JSON.parse(stdout)

/** Runs a command in this process. The command reads `process.env`. */
export const tollgate = (...args: ReadonlyArray<string>): Effect.Effect<Printed> =>
  Effect.gen(function* () {
    const out: Array<string> = []
    const err: Array<string> = []
    const recordingConsole = yield* Console.consoleWith((console) =>
      Effect.succeed({
        ...console,
        log: (text: string) => Effect.sync(() => void out.push(`${text}\n`)),
        error: (text: string) => Effect.sync(() => void err.push(`${text}\n`))
      })
    )
    const code = yield* Effect.withConsole(runCommand(args), recordingConsole)
    return { code, stdout: out.join(""), stderr: err.join("") }
  })

export interface Running {
  readonly signal: (signal: NodeJS.Signals) => void
  readonly printed: Effect.Effect<Printed>
}

type Environment = Readonly<Record<string, string>>

/** Starts a command in a separate process, whose stdin is not a terminal. */
export const start = (environment: Environment, ...args: ReadonlyArray<string>): Running =>
  startInto(undefined, environment, ...args)

/** Starts a command that writes its stdout to a file. */
export const startInto = (
  file: string | undefined,
  environment: Environment,
  ...args: ReadonlyArray<string>
): Running => {
  const child = bundled(CLI).then((main) => {
    const stdout = file === undefined ? "pipe" : openSync(file, "w")
    const started = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ["ignore", stdout, "pipe"]
    })
    if (typeof stdout === "number") closeSync(stdout)
    return started
  })
  const printed = child.then(printedBy)
  return {
    signal: (signal) => void child.then((running) => running.kill(signal)),
    printed: Effect.promise(() => printed)
  }
}

const printedBy = (child: ChildProcess): Promise<Printed> => {
  const [out, err]: [Array<Buffer>, Array<Buffer>] = [[], []]
  child.stdout?.on("data", (chunk) => out.push(chunk))
  child.stderr?.on("data", (chunk) => err.push(chunk))
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) =>
      resolve({ code: code ?? -1, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
    )
  })
}
