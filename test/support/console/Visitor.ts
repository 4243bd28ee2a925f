/**
 * A simulated user of a browser. Records the errors and warnings in the browser's log, which include violations of the
 * Content-Security-Policy.
 */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { violationsOf } from "../pages/Axe.ts"

const TIMEOUT_MILLIS = 60_000

export interface VisitorOptions {
  readonly language?: "id" | "en"
  readonly theme?: "light" | "dark"
  readonly device?: "phone" | "desktop"
}

const devices: { readonly [D in NonNullable<VisitorOptions["device"]>]: BrowserContextOptions } = {
  phone: { viewport: { width: 375, height: 740 }, hasTouch: true },
  desktop: { viewport: { width: 1280, height: 800 } }
}

/** Chromium logs every response with an error status. A 4xx response is not recorded: some tests cause refusals. */
const REFUSED = /^Failed to load resource: the server responded with a status of 4\d\d/

export class Visitor {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #origin: string
  readonly browserErrors: Array<string> = []
  readonly requests: Array<string> = []

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.#context = context
    this.page = page
    this.#origin = origin
    page.setDefaultTimeout(TIMEOUT_MILLIS)
    page.on("console", (message) => {
      const isRecorded = message.type() === "error" || message.type() === "warning"
      if (isRecorded && !REFUSED.test(message.text())) this.browserErrors.push(message.text())
    })
    page.on("pageerror", (error) => this.browserErrors.push(error.message))
    page.on("request", (request) => this.requests.push(request.url()))
  }

  static async arrive(browser: Browser, origin: string, options: VisitorOptions = {}): Promise<Visitor> {
    const { language = "en", theme = "light", device = "phone" } = options
    const context = await browser.newContext({
      ...devices[device],
      locale: language === "id" ? "id-ID" : "en-US",
      colorScheme: theme,
      timezoneId: "America/New_York",
      acceptDownloads: true
    })
    return new Visitor(context, await context.newPage(), origin)
  }

  /** Opens a path as the address bar does. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.#origin}${path}`)
    await this.page.locator("h1").waitFor()
  }

  /** Follows a link to this path. The browser does not load a new document. */
  async follow(path: string): Promise<void> {
    await this.page.evaluate((href) => {
      const link = document.createElement("a")
      link.href = href
      document.body.append(link)
      link.click()
      link.remove()
    }, path)
    await this.page.waitForURL((url) => `${url.pathname}${url.search}` === path)
    await this.settled()
  }

  async settled(): Promise<void> {
    await this.page.locator("h1").waitFor()
    await this.page.waitForFunction(() => document.querySelector(".placeholder") === null)
  }

  async fill(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(values)) await this.page.fill(`main input[name="${name}"]`, value)
  }

  async submit(): Promise<void> {
    await this.page.click("main button[type=submit]")
  }

  async press(name: string | RegExp): Promise<void> {
    await this.page.getByRole("main").getByRole("button", { name }).first().click()
  }

  async sees(text: string | RegExp): Promise<void> {
    const main = this.page.getByRole("main")
    const found = main.getByText(text).filter({ visible: true }).first()
    await found.waitFor().catch(async (cause) => {
      throw new Error(`the page does not show ${text}; it shows: ${await main.textContent()}`, { cause })
    })
  }

  /** Reports to the page that its tab has become visible. The page of an order then reads the order immediately. */
  async returnsToTab(): Promise<void> {
    await this.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")))
  }

  at(path: string | RegExp): Promise<void> {
    return this.page.waitForURL((url) => (typeof path === "string" ? url.pathname === path : path.test(url.pathname)))
  }

  async logIn(email: string, password: string): Promise<void> {
    await this.fill({ email, password })
    await this.submit()
  }

  /** Opens a page, by default the home of a reseller, with a session that exists already. */
  async enter(session: string, path = "/console/home"): Promise<void> {
    // Each document of the origin has the same storage. An icon is loaded faster than a page of the console.
    await this.page.goto(`${this.#origin}/rankings/icon.svg`)
    await this.page.evaluate((text) => sessionStorage.setItem("tollgate.session", text), session)
    await this.open(path)
    await this.settled()
  }

  /** Returns the violations of accessibility rules, and a message if the page is wider than the screen. */
  async faults(): Promise<ReadonlyArray<string>> {
    const wide = await this.overflow()
    return [...(await violationsOf(this.page)), ...(wide > 0 ? [`${wide} pixels wider than the screen`] : [])]
  }

  session(): Promise<{ readonly token: string }> {
    return this.page.evaluate(() => JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}"))
  }

  /** Returns the number of pixels by which the page is wider than the screen. */
  overflow(): Promise<number> {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  }

  get foreignRequests(): ReadonlyArray<string> {
    return this.requests.filter((url) => !url.startsWith(`${this.#origin}/`) && !url.startsWith("blob:"))
  }

  leave(): Promise<void> {
    return this.#context.close()
  }
}
