/**
 * Starts a headless Chromium from an npm package, so no browser has to be installed on the machine.
 */
import packed from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"

const REFUSED_ARGUMENTS = /web-security|insecure-content|headless|single-process|gpu|use-gl|angle|swiftshader|no-zygote/

/** Returns the browser, or the reason as a string if the browser cannot start, for example on an unsupported system. */
export const open = async (): Promise<Browser | string> => {
  try {
    const executablePath = await packed.executablePath()
    // Some default arguments of the package are only for serverless functions with one page. Others turn off web
    // security, which these tests check. Others emulate a graphics processor, which needs a quarter more processor
    // time. Without a zygote, each page would load the program again.
    const args = packed.args.filter((argument) => !REFUSED_ARGUMENTS.test(argument))
    return await chromium.launch({
      executablePath,
      args: [...args, "--disable-gpu", "--in-process-gpu"],
      timeout: 60_000
    })
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
  }
}

interface OpenedBrowser {
  readonly browser: Browser
  /** True if the browser cannot be started. The tests that use `browser` must then be skipped. */
  readonly isMissing: boolean
}

/** Opens the browser of a test file. `tests` names the tests in the warning that they are skipped. */
export const openFor = async (tests: string): Promise<OpenedBrowser> => {
  const opened = await open()
  const isMissing = typeof opened === "string"
  if (isMissing) console.warn(`${tests} are skipped because the browser cannot be started (${opened})`)
  return { browser: opened as Browser, isMissing }
}
