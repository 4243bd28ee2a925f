/** Finds, checks out and builds the previous release. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join, resolve } from "node:path"

export const THIS_CHECKOUT = resolve(import.meta.dirname, "../..")
const FOLDER = join(THIS_CHECKOUT, ".tollgate/upgrade")

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", THIS_CHECKOUT, ...args], { encoding: "utf8" }).trim()

/**
 * The oldest commit whose servers can run at the same time as servers of this release. Servers of release 0.1.0 cannot,
 * because the migrations up to 0015 change tables that they use.
 */
const OLDEST = "fba80584"

/** Returns the newest tag in the history of HEAD that contains the commit OLDEST, or OLDEST if there is no such tag. */
export const previousRelease = (): string =>
  git("tag", "--contains", OLDEST, "--merged", "HEAD", "--sort=-creatordate").split("\n")[0] || OLDEST

export const isCommit = (ref: string): boolean => {
  const options = ["-C", THIS_CHECKOUT, "rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]
  return spawnSync("git", options).status === 0
}

export const shortName = (ref: string): string => git("rev-parse", "--short=8", `${ref}^{commit}`)

export const isBuilt = (checkout: string): boolean =>
  existsSync(join(checkout, "apps/server/dist/main.js")) && existsSync(join(checkout, "apps/cli/dist/main.js"))

/** Returns the folder for a release, even if the folder does not exist. */
export const checkoutOf = (ref: string): string => join(FOLDER, shortName(ref))

/** Builds a release in a git worktree, unless it is already built. Installs its dependencies from the npm registry. */
export const build = (ref: string): string => {
  const checkout = checkoutOf(ref)
  if (isBuilt(checkout)) return checkout
  mkdirSync(FOLDER, { recursive: true })
  if (!existsSync(checkout)) git("worktree", "add", "--detach", checkout, ref)
  const run = (...args: ReadonlyArray<string>) => execFileSync("npm", args, { cwd: checkout, stdio: "inherit" })
  run("ci", "--no-fund", "--no-audit")
  run("run", "-s", "build")
  return checkout
}
