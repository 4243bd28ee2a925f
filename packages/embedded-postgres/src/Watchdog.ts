/**
 * Runs Postgres with a watchdog: a shell script that stops Postgres when no process keeps the lifeline open. The
 * lifeline is a pipe that every process that uses Postgres opens for writing.
 *
 * Postgres and the watchdog run in a separate session, so that Ctrl-C in a terminal reaches the server but not
 * Postgres. The server can then settle its open requests before Postgres stops.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { chown, readFile, rename, rm, rmdir } from "node:fs/promises"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import * as Lifeline from "./Lifeline.ts"
import type { PostgresHome } from "./PostgresHome.ts"
import type { UnprivilegedUser } from "./UnprivilegedUser.ts"

/**
 * The watchdog. Descriptor 3 is the read end of the lifeline, which Postgres must not inherit. Postgres shuts down
 * cleanly and without waiting for its clients when it receives SIGINT.
 */
const SCRIPT = `
"$@" 3<&- & postgres=$!
(read -r nothing <&3; kill -INT $postgres) 2>/dev/null & reader=$!
exec 3<&-
trap 'kill -INT $postgres 2>/dev/null' INT TERM HUP
wait $postgres; code=$?
while kill -0 $postgres 2>/dev/null; do wait $postgres; code=$?; done
kill -KILL $reader 2>/dev/null
exit $code
`

export interface WatchedPostgres {
  readonly exited: Effect.Effect<void>
  /** The last lines of the Postgres log, which can state why Postgres exited. */
  readonly logTail: Effect.Effect<string>
  /**
   * Gives the log and the lifeline their final names, so that other processes can find and use this Postgres. The
   * caller runs this effect when Postgres is ready.
   */
  readonly announce: Effect.Effect<void, EmbeddedPostgresFailed>
}

/** All environment variables of `initdb`, the watchdog and Postgres, which inherit none from this process. */
export const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

/** Starts Postgres, which runs until the scope has ended and no other process keeps the lifeline open. */
export const watched = (
  home: PostgresHome,
  launchId: string,
  command: ReadonlyArray<string>,
  user: UnprivilegedUser | undefined
): Effect.Effect<WatchedPostgres, EmbeddedPostgresFailed, Scope.Scope> => {
  let lifeline = `${home.lifeline}-${launchId}`
  let log = `${home.logFile}-${launchId}`
  const spawned = Effect.flatMap(Lifeline.create(lifeline), ({ reader, writer }) =>
    step("cannot start Postgres", async () => {
      const output = openSync(log, "w", 0o600)
      try {
        for (const file of user === undefined ? [] : [lifeline, log]) await chown(file, user?.uid ?? 0, user?.gid ?? 0)
        const child = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], {
          ...user,
          env: environment,
          cwd: "/",
          detached: true,
          stdio: ["ignore", output, output, reader]
        })
        return { child, writer }
      } finally {
        closeSync(output)
        closeSync(reader)
      }
    }).pipe(Effect.onError(() => Effect.sync(() => closeSync(writer))))
  )
  return Effect.acquireRelease(spawned, ({ child, writer }) =>
    Effect.gen(function* () {
      closeSync(writer)
      yield* stopped(child, lifeline)
      if (!hasExited(child)) return
      const unannounced = lifeline === home.lifeline ? [] : [lifeline, log]
      yield* Effect.promise(async () => {
        for (const file of unannounced) await rm(file, { force: true })
        // If another process already uses the socket directory, the directory is not empty, and `rmdir` fails.
        await rmdir(home.socketDir).catch(() => {})
      })
    })
  ).pipe(
    Effect.map(({ child }) => ({
      exited: exitOf(child),
      logTail: Effect.promise(() =>
        readFile(log, "utf8").then(
          (text) => text.trimEnd().split("\n").slice(-8).join("\n"),
          () => ""
        )
      ),
      announce: step("cannot rename the log or the lifeline of Postgres", async () => {
        await rename(log, home.logFile)
        log = home.logFile
        await rename(lifeline, home.lifeline)
        lifeline = home.lifeline
      })
    }))
  )
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const exitOf = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const done = () => resume(Effect.void)
    if (hasExited(child)) return done()
    child.once("exit", done)
    child.once("error", done)
    return Effect.sync(() => child.off("exit", done).off("error", done))
  })

/**
 * Waits at most about 30 seconds until Postgres exits. Returns early if other processes keep the lifeline open, because
 * Postgres then continues to run.
 */
const stopped = (child: ChildProcess, lifeline: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let round = 0; round < 25 && !hasExited(child) && Lifeline.isWatched(lifeline); round++) {
      yield* Effect.promise(() => new Promise((done) => setTimeout(done, 20)))
    }
    if (!hasExited(child) && Lifeline.isWatched(lifeline)) return child.unref()
    yield* exitOf(child).pipe(Effect.interruptible, Effect.timeoutOption("30 seconds"))
  })
