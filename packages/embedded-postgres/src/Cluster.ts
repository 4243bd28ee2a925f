/**
 * Creates the data files of a Postgres cluster, if they do not exist yet. If two processes create the files
 * concurrently, both processes use the files of the process that finishes first.
 *
 * A process creates its files in a folder of its own. The folder has a lifeline, a pipe that the process and its initdb
 * keep open for reading. If the process was killed, its initdb can run on. When neither keeps the pipe open any more,
 * the next start removes the folder.
 */
import { spawn } from "node:child_process"
import { closeSync } from "node:fs"
import { chown, mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import * as Lifeline from "./Lifeline.ts"
import type { PostgresHome } from "./PostgresHome.ts"
import type { UnprivilegedUser } from "./UnprivilegedUser.ts"
import { environment } from "./Watchdog.ts"

/** Creates a missing cluster, and removes the folders that killed processes have left. */
export const ensureCluster = (
  home: PostgresHome,
  launchId: string,
  initdb: string,
  user: UnprivilegedUser | undefined,
  durable: boolean
): Effect.Effect<void, EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    yield* removeLeftovers(home)
    if (yield* exists(home)) return
    const draft = join(home.directory, `new-${launchId}`)
    const folder = join(home.directory, `data-${launchId}`)
    const options = [
      "-U",
      "postgres",
      "-A",
      "trust",
      "--encoding=UTF8",
      "--locale=C",
      ...(durable ? [] : ["--no-sync"])
    ]
    // After an interruption, the step runs on, and initdb must still get the open descriptor.
    let isStarted = false
    yield* Effect.acquireUseRelease(
      Effect.zipRight(
        step("cannot create a folder for a Postgres cluster", () => mkdir(draft, { mode: 0o700 })),
        Lifeline.create(join(draft, LIFELINE))
      ),
      (lifeline) =>
        step("cannot create a Postgres cluster", async () => {
          isStarted = true
          try {
            if (user !== undefined) await chown(draft, user.uid, user.gid)
            // The folder gets its final name only when its lifeline is open. Therefore another start cannot take it
            // for the folder of a killed process.
            await rename(draft, folder)
            await runToEnd(initdb, ["-D", join(folder, CLUSTER), ...options], user, lifeline.reader)
            await rename(join(folder, CLUSTER), home.dataDir).catch((cause) => {
              if (cause.code !== "ENOTEMPTY" && cause.code !== "EEXIST") throw cause
            })
          } finally {
            close(lifeline)
          }
        }),
      (lifeline) => Effect.sync(() => !isStarted && close(lifeline))
    ).pipe(
      Effect.ensuring(
        // After an interruption, initdb may still write. The next start removes what remains.
        Effect.promise(() => Promise.allSettled([draft, folder].map(removeFolder)))
      )
    )
  })

const close = ({ reader, writer }: Lifeline.Lifeline): void => {
  closeSync(reader)
  closeSync(writer)
}

/** Removes the lifeline last, so that the next start continues a removal that was cut off. */
const removeFolder = async (folder: string): Promise<void> => {
  await rm(join(folder, CLUSTER), { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

const LIFELINE = "lifeline"
const CLUSTER = "cluster"
const FOLDER_NAME = /^(new|data)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The age of a leftover that no open lifeline can protect: its process has not opened the lifeline yet, or belongs to a
 * release that created none. initdb takes seconds.
 */
const UNMARKED_MILLIS = 24 * 3_600_000

/** Removes the folders of killed processes. A folder that cannot be removed does not prevent the start. */
const removeLeftovers = ({ directory }: PostgresHome): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
    step(`a folder of an unfinished Postgres cluster in ${directory} cannot be removed`, async () => {
      for (const name of await readdir(directory)) {
        if (!FOLDER_NAME.test(name)) continue
        const folder = join(directory, name)
        if (await isLeftover(folder, nowMillis)) await removeFolder(folder)
      }
    })
  ).pipe(Effect.catchAll(({ message }) => Effect.logWarning(message)))

const isLeftover = async (folder: string, nowMillis: number): Promise<boolean> => {
  const names = await readdir(folder).catch(() => undefined)
  // A folder of PostgresHome.ts, which contains a complete cluster, can have a name of the same form.
  if (names === undefined || names.includes("data")) return false
  if (names.includes(LIFELINE) && basename(folder).startsWith("data-"))
    return Lifeline.isAbandoned(join(folder, LIFELINE))
  const found = await stat(folder).catch(() => undefined)
  return found !== undefined && nowMillis - found.mtimeMs > UNMARKED_MILLIS
}

const exists = ({ dataDir }: PostgresHome): Effect.Effect<boolean> =>
  Effect.promise(() =>
    stat(join(dataDir, "PG_VERSION")).then(
      () => true,
      () => false
    )
  )

/** Runs initdb, which inherits the descriptor `lifeline`. */
const runToEnd = (
  program: string,
  args: ReadonlyArray<string>,
  user: UnprivilegedUser | undefined,
  lifeline: number
): Promise<void> =>
  new Promise((resolve, reject) => {
    const stdio = ["ignore", "ignore", "pipe", lifeline] as const
    const child = spawn(program, args, { ...user, env: environment, cwd: "/", stdio: [...stdio] })
    let output = ""
    child.stderr?.on("data", (chunk) => {
      output = (output + chunk).slice(-2_000)
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`initdb ended with ${code}: ${output.trim()}`))
    )
  })
