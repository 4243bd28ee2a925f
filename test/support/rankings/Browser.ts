/**
 * A headless Chromium from an npm package. Nothing has to be installed on the machine.
 *
 * Where it cannot start all the same (another system, a folder that may not be executed from) `open` says why instead.
 */
import packed from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"

export const open = async (): Promise<Browser | string> => {
  try {
    const executablePath = await packed.executablePath()
    // Some of the package's arguments suit one page in a lambda only, and some switch off web security, which these tests check.
    // Both kinds are left out.
    const args = packed.args.filter(
      (argument) => !/web-security|insecure-content|headless|single-process/.test(argument)
    )
    return await chromium.launch({ executablePath, args, timeout: 20_000 })
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
  }
}
