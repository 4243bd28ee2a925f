/**
 * Finds the build of the console, which the gateway serves under `/console`.
 *
 * The package is resolved by name, so the same code finds the build from the sources, from `dist`, and from a bundle of
 * a test. A server without a build also starts; its path `/console` returns an error with the build command.
 */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** Returns the folder of the built console, or undefined if the package is not installed or not built. */
export const consoleFolder = (): string | undefined => {
  try {
    const manifest = createRequire(import.meta.url).resolve("@tollgate/console/package.json")
    const folder = join(dirname(manifest), "dist/site")
    return existsSync(join(folder, "index.html")) ? folder : undefined
  } catch {
    return undefined
  }
}
