/**
 * Determines the directories and files of one embedded Postgres.
 *
 *     <directory>/data       the cluster
 *     <directory>/data-<id>  a cluster that a process creates (Cluster.ts)
 *     <directory>/lifeline   the pipe that every process that uses Postgres keeps open for writing
 *     <directory>/log        the Postgres log since the last start
 *     <temp>/tollgate-<hash> the directory of the socket; the hash depends only on <directory>
 *
 * If the user that Postgres runs as cannot reach the requested directory, <directory> is another directory. The
 * requested directory then contains only the file `moved-to`, with the path of <directory>. In both cases, if a
 * developer removes the requested directory, the next start creates a new cluster.
 */
import { createHash, randomUUID } from "node:crypto"
import { link, mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
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
  requested: string,
  user: UnprivilegedUser | undefined
): Effect.Effect<PostgresHome, EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    const parent = yield* step(`cannot create ${dirname(resolve(requested))}`, async () => {
      await mkdir(dirname(resolve(requested)), { recursive: true })
      return realpath(dirname(resolve(requested)))
    })
    const wanted = join(parent, resolve(requested).slice(dirname(resolve(requested)).length))
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

/**
 * Returns the socket directory. A unix socket path has at most about 100 bytes, so a long temporary directory is
 * replaced with /tmp.
 */
const socketDirOf = (directory: string): string => {
  const hash = createHash("sha256").update(directory).digest("hex").slice(0, 12)
  return join(tmpdir().length <= 60 ? tmpdir() : "/tmp", `tollgate-${hash}`)
}

const movedTo = (wanted: string) =>
  Effect.flatMap(reachableHome, (home) =>
    step(`cannot use ${wanted}`, async () => {
      const pointer = join(wanted, "moved-to")
      await mkdir(wanted, { recursive: true })
      const id = randomUUID()
      const draft = `${pointer}-${id}`
      await writeFile(draft, `${join(home, `data-${id}`)}\n`)
      // If several processes start concurrently, one process creates the file `moved-to`, and all read it. A link
      // creates the file together with its content, so no process reads an empty file.
      await link(draft, pointer)
        .catch((cause) => {
          if (cause.code !== "EEXIST") throw cause
        })
        .finally(() => rm(draft, { force: true }))
      const directory = (await readFile(pointer, "utf8")).trim()
      if (directory === "") throw new Error(`${pointer} is empty; remove this file, and start again`)
      return directory
    })
  )
