/**
 * Takes the screenshots of the rankings page for the README. The page shows a generated history of usage.
 *
 *     npm run screenshots        writes docs/rankings/{light,dark,phone}.png
 */
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"
import type { BrowserContextOptions } from "playwright-core"
import { catalogOf, closeGateways, startGateway } from "../adapters-http/inference/relay/TestGateway.ts"
import { readProgram } from "../support/Program.ts"
import * as BelievableHistory from "../support/rankings/BelievableHistory.ts"
import * as Browser from "../support/rankings/Browser.ts"
import { RememberedRankings } from "../support/rankings/RememberedRankings.ts"

const folder = resolve(import.meta.dirname, "../../docs/rankings")

interface Screenshot extends BrowserContextOptions {
  readonly name: string
  readonly window: string
}

const desktop = { viewport: { width: 1280, height: 800 } }
const screenshots: ReadonlyArray<Screenshot> = [
  { name: "light", window: "month", colorScheme: "light", ...desktop },
  { name: "dark", window: "month", colorScheme: "dark", ...desktop },
  {
    name: "phone",
    window: "week",
    colorScheme: "light",
    viewport: { width: 375, height: 812 },
    // A factor of 2 would make the image of this long page larger than the browser can draw.
    deviceScaleFactor: 1.5,
    isMobile: true,
    hasTouch: true
  }
]

readProgram({})
const browser = await Browser.open()
if (typeof browser === "string") throw new Error(`no screenshots were taken, because there is no browser: ${browser}`)
const { url } = await startGateway({ catalog: catalogOf({}), rankings: new RememberedRankings().layer })
try {
  await mkdir(folder, { recursive: true })
  for (const { name, window, ...options } of screenshots) {
    const context = await browser.newContext({ ...options, timezoneId: "Asia/Jakarta", locale: "en-GB" })
    const page = await context.newPage()
    await page.clock.setFixedTime(BelievableHistory.now)
    await page.goto(`${url}/rankings?window=${window}`)
    await page.locator('main[data-state="ready"]').waitFor()
    await page.screenshot({ path: resolve(folder, `${name}.png`), fullPage: true })
    await context.close()
    console.log(`docs/rankings/${name}.png`)
  }
} finally {
  await browser.close()
  await closeGateways()
}
