/**
 * A headless Chromium out of an npm package: nothing has to be installed on the machine for it.
 *
 * Where it cannot start all the same (another system, a folder that may not be executed from) `open` says why instead.
 */
import packed from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"

export const open = async (): Promise<Browser | string> => {
  try {
    const executablePath = await packed.executablePath()
    // Of the arguments the package suggests, those fit for one page of a lambda are left out, and those that switch web
    // security off, which is part of what is tested.
    const args = packed.args.filter(
      (argument) => !/web-security|insecure-content|headless|single-process/.test(argument)
    )
    return await chromium.launch({ executablePath, args, timeout: 20_000 })
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
  }
}
