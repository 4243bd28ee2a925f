/**
 * Creates the data files of a Postgres cluster, if they do not exist yet. If two processes create the files
 * concurrently, both processes use the files of the process that finishes first.
 */
import { spawn } from "node:child_process"
import { chown, mkdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import type { PostgresHome } from "./PostgresHome.ts"
import type { UnprivilegedUser } from "./UnprivilegedUser.ts"
import { environment } from "./Watchdog.ts"

export const ensureCluster = (
  home: PostgresHome,
  launchId: string,
  initdb: string,
  user: UnprivilegedUser | undefined,
  durable: boolean
): Effect.Effect<void, EmbeddedPostgresFailed> =>
  Effect.flatMap(exists(home), (there) => {
    if (there) return Effect.void
    const partial = join(home.directory, `data-${launchId}`)
    return step("cannot create a Postgres cluster", async () => {
      await mkdir(partial, { mode: 0o700 })
      if (user !== undefined) await chown(partial, user.uid, user.gid)
      const options = [
        "-U",
        "postgres",
        "-A",
        "trust",
        "--encoding=UTF8",
        "--locale=C",
        ...(durable ? [] : ["--no-sync"])
      ]
      await runToEnd(initdb, ["-D", partial, ...options], user)
      await rename(partial, home.dataDir).catch((cause) => {
        if (cause.code !== "ENOTEMPTY" && cause.code !== "EEXIST") throw cause
      })
    }).pipe(Effect.ensuring(Effect.promise(() => rm(partial, { recursive: true, force: true }))))
  })

const exists = ({ dataDir }: PostgresHome): Effect.Effect<boolean> =>
  Effect.promise(() =>
    stat(join(dataDir, "PG_VERSION")).then(
      () => true,
      () => false
    )
  )

const runToEnd = (program: string, args: ReadonlyArray<string>, user: UnprivilegedUser | undefined) =>
  new Promise<void>((resolve, reject) => {
    const child = spawn(program, args, { ...user, env: environment, cwd: "/", stdio: ["ignore", "ignore", "pipe"] })
    let output = ""
    child.stderr.on("data", (chunk) => {
      output = (output + chunk).slice(-2_000)
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`initdb ended with ${code}: ${output.trim()}`))
    )
  })
