/**
 * Checks whether the Postgres of a cluster accepts connections, and stops a Postgres without a watchdog. A Postgres has
 * no watchdog while it shuts down, after its watchdog was killed, or if another program has started it.
 */
import { execFile } from "node:child_process"
import { readdir, readFile, readlink, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Pg from "pg"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import { isWatched } from "./Lifeline.ts"
import type { PostgresHome } from "./PostgresHome.ts"

/** Another Postgres may still use the cluster or its socket, so the caller must retry shortly. */
export class ClusterInUse extends Data.TaggedError("ClusterInUse") {}

/** The Postgres setting that contains the launch id, a random id for each start of Postgres. */
export const LAUNCH_SETTING = "tollgate.launch"

/**
 * States every parameter that the driver would otherwise read from variables such as PGPORT, PGSSLMODE and PGOPTIONS.
 * These variables belong to another Postgres. The driver ignores an empty text, so a space states that there are no
 * options. Postgres reads the text "false" as no replication.
 */
const nothingFromEnvironment = {
  port: 5432,
  ssl: false,
  sslnegotiation: "postgres",
  options: " ",
  replication: "false"
} as const

/**
 * Returns the launch id of the Postgres that accepts connections at this socket. Returns none if no connection succeeds
 * within a second, for example while Postgres starts, recovers or stops.
 */
export const launchOf = (socketDir: string): Effect.Effect<Option.Option<string>> =>
  Effect.promise(async () => {
    const client = new Pg.Client({
      ...nothingFromEnvironment,
      host: socketDir,
      user: "postgres",
      database: "postgres",
      connectionTimeoutMillis: 1_000
    })
    client.on("error", () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ launch: string | null }>("SELECT current_setting($1, true) AS launch", [
        LAUNCH_SETTING
      ])
      return Option.some(rows[0]?.launch ?? "")
    } catch {
      return Option.none()
    } finally {
      await client.end().catch(() => {})
    }
  })

/**
 * Succeeds if no Postgres process uses the cluster. Fails with ClusterInUse while a Postgres with a watchdog starts or
 * runs. If a Postgres without a watchdog runs, stops it, and fails with ClusterInUse until it has exited.
 */
export const stopPredecessor = (home: PostgresHome): Effect.Effect<void, ClusterInUse | EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    const pidFile = join(home.dataDir, "postmaster.pid")
    const socketLock = join(home.socketDir, ".s.PGSQL.5432.lock")
    const { pid, socketPid, hasWatchdog } = yield* step(`cannot read ${home.directory}`, async () => ({
      pid: await firstLineOf(pidFile),
      socketPid: await firstLineOf(socketLock),
      // A launch creates its lifeline before it starts Postgres. Because the process ids are read first, the check of
      // the lifeline finds the watchdog of a Postgres that another process is just starting. The lifeline has the name
      // `lifeline-<launch id>` until Postgres is ready, and then the name `lifeline`.
      hasWatchdog:
        (await readdir(home.directory)).some(
          (name) => name.startsWith("lifeline-") && isWatched(join(home.directory, name))
        ) || isWatched(home.lifeline)
    }))
    if (hasWatchdog) return yield* new ClusterInUse()
    if (yield* isPostgresOf(home.dataDir, pid)) {
      yield* step(`cannot stop Postgres with process id ${pid}, which uses ${home.dataDir}`, () => {
        sendStop(pid)
      })
      return yield* new ClusterInUse()
    }
    yield* removeStale(home.dataDir, pidFile, pid)
    yield* removeStale(home.dataDir, socketLock, socketPid)
  })

/**
 * Removes a file of a Postgres that has exited, if its process id now belongs to another program, for example after a
 * reboot. Postgres would otherwise refuse to start. Keeps the file if it has another process id than before, because
 * then a Postgres that is just starting has written it.
 */
const removeStale = (dataDir: string, file: string, pid: number): Effect.Effect<void, EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    if (!isAlive(pid) || (yield* isPostgresOf(dataDir, pid))) return
    yield* step(`cannot remove ${file}`, async () => {
      if ((await firstLineOf(file)) === pid) await rm(file, { force: true })
    })
  })

/** Sends SIGINT. The process may have exited meanwhile. */
const sendStop = (pid: number): void => {
  try {
    process.kill(pid, "SIGINT")
  } catch (error) {
    if (isAlive(pid)) throw error
  }
}

const firstLineOf = (file: string): Promise<number> =>
  readFile(file, "utf8").then(
    (text) => parseInt(text, 10),
    () => Number.NaN
  )

const isAlive = (pid: number): boolean => {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM"
  }
}

/**
 * Returns true if the process is a Postgres that uses this cluster. After a reboot or a crash, the process id can
 * belong to another program, or to the Postgres of another cluster, which must not be stopped.
 *
 * The working directory of a Postgres is its cluster, also after the cluster was deleted. If the operating system does
 * not show this directory, the command line decides, which contains the cluster of every Postgres that
 * `EmbeddedPostgres.start` has started.
 */
const isPostgresOf = (dataDir: string, pid: number): Effect.Effect<boolean, EmbeddedPostgresFailed> =>
  step(`cannot find out whether the process ${pid} is the Postgres of ${dataDir}`, async () => {
    try {
      if (!isAlive(pid) || !(await shownBy(pid, "comm")).includes("postgres")) return false
      const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
      if (directory !== undefined) {
        const own = await realpath(dataDir).catch(() => dataDir)
        return directory === own || directory === `${own} (deleted)`
      }
      return ` ${await shownBy(pid, "command")} `.includes(` -D ${dataDir} `)
    } catch (error) {
      if (isAlive(pid)) throw error
      return false
    }
  })

/** Returns the name of a process, or its command line with a space before each argument. */
const shownBy = async (pid: number, column: "comm" | "command"): Promise<string> => {
  const file = `/proc/${pid}/${column === "comm" ? "comm" : "cmdline"}`
  const shown = await readFile(file, "utf8").catch(async () => {
    const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)])
    return stdout
  })
  return shown.trim().replaceAll("\0", " ")
}
