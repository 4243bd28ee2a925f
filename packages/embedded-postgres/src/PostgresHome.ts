/**
 * Where one embedded Postgres lives.
 *
 *     <directory>/data       the cluster
 *     <directory>/lifeline   open for writing in every process that needs it running
 *     <directory>/log        what it said since it was last started
 *     <temp>/tollgate-<hash> its socket: a short path, and the same for whoever names the same directory
 *
 * Where an unprivileged user cannot reach the directory asked for, it holds one file, `moved-to`, that says where all
 * this is instead: removing the directory forgets the data either way.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import { letThrough, ownDirectory, reachableHome, type UnprivilegedUser } from "./UnprivilegedUser.ts"

export interface PostgresHome {
  readonly directory: string
  readonly dataDir: string
  readonly lifeline: string
  readonly logFile: string
  readonly socketDir: string
}

export const openHome = (
  asked: string,
  user: UnprivilegedUser | undefined
): Effect.Effect<PostgresHome, EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    const parent = yield* step(`cannot create ${dirname(resolve(asked))}`, async () => {
      await mkdir(dirname(resolve(asked)), { recursive: true })
      return realpath(dirname(resolve(asked)))
    })
    const wanted = join(parent, resolve(asked).slice(dirname(resolve(asked)).length))
    const directory = user === undefined || (yield* letThrough(user, parent)) ? wanted : yield* movedTo(wanted)
    yield* ownDirectory(directory, user)
    return {
      directory,
      dataDir: join(directory, "data"),
      lifeline: join(directory, "lifeline"),
      logFile: join(directory, "log"),
      socketDir: socketDirOf(directory)
    }
  })

/** The address of a unix socket has about 100 bytes, so the temporary directory must be short too. */
const socketDirOf = (directory: string): string => {
  const hash = createHash("sha256").update(directory).digest("hex").slice(0, 12)
  return join(tmpdir().length <= 60 ? tmpdir() : "/tmp", `tollgate-${hash}`)
}

const movedTo = (wanted: string) =>
  Effect.flatMap(reachableHome, (home) =>
    step(`cannot use ${wanted}`, async () => {
      const pointer = join(wanted, "moved-to")
      await mkdir(wanted, { recursive: true })
      const read = () => readFile(pointer, "utf8").then((text) => text.trim())
      // Of two that start at once one writes the pointer and both read it.
      await writeFile(pointer, `${join(home, `data-${randomUUID()}`)}\n`, { flag: "wx" }).catch((cause) => {
        if (cause.code !== "EEXIST") throw cause
      })
      return read()
    })
  )
