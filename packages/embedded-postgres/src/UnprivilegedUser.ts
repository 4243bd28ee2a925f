/**
 * Chooses the user that Postgres runs as. Postgres refuses to run as root, so a process of root starts Postgres as an
 * unprivileged user.
 */
import { execFile } from "node:child_process"
import { chmod, chown, lstat, mkdir } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import { type EmbeddedPostgresFailed, step } from "./EmbeddedPostgresFailed.ts"

export interface UnprivilegedUser {
  readonly uid: number
  readonly gid: number
}

const run = promisify(execFile)
const isRoot = () => process.getuid?.() === 0

const lookUp = async (name: string): Promise<UnprivilegedUser> => {
  const { stdout } = await run("/bin/sh", ["-c", 'id -u "$1" && id -g "$1"', "sh", name])
  const [uid = "", gid = ""] = stdout.split("\n")
  return { uid: parseInt(uid, 10), gid: parseInt(gid, 10) }
}

/** The id of an unprivileged user: 65534 on Linux, -2 on macOS. */
const FALLBACK_ID = process.platform === "darwin" ? 4_294_967_294 : 65_534
const FALLBACK: UnprivilegedUser = { uid: FALLBACK_ID, gid: FALLBACK_ID }

let found: Promise<UnprivilegedUser> | undefined

/**
 * The user to run Postgres as, if this process is root. Otherwise `undefined`: Postgres runs as the current user. The
 * user is looked up once, because the start of a command is slow: it copies the page tables of this process.
 */
export const unprivilegedUser: Effect.Effect<UnprivilegedUser | undefined> = Effect.promise(async () => {
  if (!isRoot()) return undefined
  found ??= lookUp("postgres").catch(() => FALLBACK)
  return found
})

/**
 * Returns whether this user can enter the directory, or run the program, at this path. Both need access to every parent
 * directory.
 */
export const canReach = (user: UnprivilegedUser, path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    run("/bin/sh", ["-c", '[ -x "$1" ]', "sh", path], { ...user, cwd: "/" }).then(
      () => true,
      () => false
    )
  )

/**
 * Lets the group of this user enter `path`, if `path` is a private directory of root, for example a directory that
 * `mktemp -d` creates. Never changes root's home directory. Returns whether the user can then reach `path`.
 */
export const letThrough = (user: UnprivilegedUser, path: string): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    if (yield* canReach(user, path)) return true
    if (path === homedir() || !(yield* canReach(user, dirname(path)))) return false
    const opened = yield* Effect.promise(async () => {
      const { gid, mode, uid } = await lstat(path)
      if (uid !== 0 || gid !== 0 || (mode & 0o077) !== 0) return false
      await chown(path, uid, user.gid)
      await chmod(path, 0o710)
      return true
    }).pipe(Effect.catchAllDefect(() => Effect.succeed(false)))
    return opened && (yield* canReach(user, path))
  })

/**
 * Creates a directory with the mode 0700 that belongs to `user`, or to the current user if `user` is undefined. If the
 * directory exists, its mode is not changed, and a directory of root is given to `user`. Fails if any other user owns
 * the directory.
 */
export const ownDirectory = (
  path: string,
  user: UnprivilegedUser | undefined
): Effect.Effect<void, EmbeddedPostgresFailed> =>
  step(`cannot use ${path}`, async () => {
    await mkdir(dirname(path), { recursive: true })
    await mkdir(path, { recursive: true, mode: 0o700 })
    if (user !== undefined && (await lstat(path)).uid === 0) await chown(path, user.uid, user.gid)
    const found = await lstat(path)
    const owner = user?.uid ?? process.getuid?.() ?? found.uid
    if (!found.isDirectory() || found.uid !== owner)
      throw new Error("it is not a directory, or it belongs to another user")
  })

/**
 * Returns the path of a directory that root owns and that an unprivileged user can reach. Creates it if it is missing.
 */
export const reachableHome: Effect.Effect<string, EmbeddedPostgresFailed> = step(
  "found no directory that an unprivileged user can reach",
  async () => {
    for (const path of ["/var/lib/tollgate", join(tmpdir(), "tollgate-of-root")]) {
      const usable = await mkdir(path, { recursive: true })
        .then((created) => (created === undefined ? undefined : chmod(path, 0o755)))
        .then(() => lstat(path))
        .catch(() => undefined)
      // In a world-writable parent directory, another user may have created this directory first.
      if (usable?.isDirectory() && usable.uid === 0 && (usable.mode & 0o022) === 0) return path
    }
    throw new Error("tried /var/lib and the temporary directory")
  }
)
