/**
 * Chooses the user that Postgres runs as. Postgres refuses to run as root, so root starts it as an unprivileged user.
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
  const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])])
  return { uid: parseInt(uid.stdout, 10), gid: parseInt(gid.stdout, 10) }
}

/** The user id of the unprivileged account that every system has: 65534 on Linux, -2 on macOS. */
const FALLBACK_ID = process.platform === "darwin" ? 4_294_967_294 : 65_534
const FALLBACK: UnprivilegedUser = { uid: FALLBACK_ID, gid: FALLBACK_ID }

/** The unprivileged user; `undefined` if this process is not root, because Postgres then runs as the current user. */
export const unprivilegedUser: Effect.Effect<UnprivilegedUser | undefined> = Effect.promise(async () =>
  isRoot() ? lookUp("postgres").catch(() => FALLBACK) : undefined
)

/**
 * Returns whether this user can enter a directory or run a program, which needs access to every parent directory too.
 */
export const canReach = (user: UnprivilegedUser, path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    run("/bin/sh", ["-c", '[ -x "$1" ]', "sh", path], { ...user, cwd: "/" }).then(
      () => true,
      () => false
    )
  )

/**
 * Gives this user, and no other, access through a private directory of root, such as one made with `mktemp -d`. Never
 * changes the home directory. Returns whether the user can reach `path` afterwards.
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
 * Creates a directory that only this user (or the current user, if undefined) can use. Fails if another user owns it.
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
    if (!found.isDirectory() || found.uid !== owner) throw new Error("it belongs to another user")
  })

/** Creates and returns a directory, owned by root, that an unprivileged user can reach. */
export const reachableHome: Effect.Effect<string, EmbeddedPostgresFailed> = step(
  "no directory that an unprivileged user can reach",
  async () => {
    for (const path of ["/var/lib/tollgate", join(tmpdir(), "tollgate-of-root")]) {
      const usable = await mkdir(path, { recursive: true })
        .then((created) => (created === undefined ? undefined : chmod(path, 0o755)))
        .then(() => lstat(path))
        .catch(() => undefined)
      // In a world-writable parent directory, another user may have created this directory first.
      if (usable?.isDirectory() && usable.uid === 0 && (usable.mode & 0o022) === 0) return path
    }
    throw new Error("neither below /var/lib nor below the temporary directory")
  }
)
