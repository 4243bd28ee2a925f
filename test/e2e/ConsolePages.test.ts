/**
 * Opens every page of the console, in both languages and both themes, with names that try to break the page. Checks
 * accessibility, the width of a telephone, the browser's log, and the size of the files of a first visit.
 */
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { Visitor, type VisitorOptions } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const opened = await HeadlessBrowser.open()
if (typeof opened === "string")
  console.warn(`the tests of the console's pages are skipped because the browser cannot be started (${opened})`)
const browser = opened as Browser
const isMissing = typeof opened === "string"

vi.setConfig({ testTimeout: 120_000 })

const MARKUP = `<img src="/stolen" onerror="document.title='taken over'">`
const RIGHT_TO_LEFT = "\u202Ereversed متجر"
const NAME = `${MARKUP} $& ${RIGHT_TO_LEFT}`
const EMOJI = "\u{1F6A7}".repeat(200)
const RESELLER = "markup@toko.example"
const PASSWORD = "correct horse battery"
const CUSTOMER = "pelanggan@pages.example"
const KEY_NAMES = [MARKUP, RIGHT_TO_LEFT, EMOJI]

let server: ConsoleServer
let session = ""
let secret = ""
let customerPath = ""
let orderPath = ""

/** Sends a request as the reseller. */
const asReseller = async (token: string, path: string, body: object): Promise<Record<string, string>> => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const response = await fetch(`${server.url}/api/reseller${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return JSON.parse(text) as Record<string, string>
}

beforeAll(async () => {
  if (isMissing) return
  server = await ConsoleServer.start()
  await asReseller("", "/auth/signup", { email: RESELLER, password: PASSWORD, name: NAME, wa_number: "6281234567890" })
  await server.operator("resellers", "approve", RESELLER, "--reason", "test")
  // One login for all tests, because the attempts of a minute are limited.
  const { token = "" } = await asReseller("", "/auth/login", { email: RESELLER, password: PASSWORD })
  session = JSON.stringify({ kind: "reseller", token, reseller: { id: "any", email: RESELLER, name: NAME } })
  const { user_id = "" } = await asReseller(token, "/customers", { email: CUSTOMER })
  for (const name of KEY_NAMES) {
    const { secret: created = "" } = await asReseller(token, `/customers/${user_id}/keys`, { name })
    secret = created
  }
  const { id = "" } = await asReseller(token, "/topup", { method: "crypto_bep20", amount_usd_micro: 25_000_123 })
  customerPath = `/console/customers/${user_id}`
  orderPath = `/console/topups/${id}`
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

/** Returns the faults of the page that the visitor sees. */
const faults = async (visitor: Visitor, path: string): Promise<ReadonlyArray<string>> => {
  await visitor.settled()
  const wide = await visitor.overflow()
  const found = [...(await visitor.violations()), ...(wide > 0 ? [`${wide} pixels wider than the screen`] : [])]
  return found.map((fault) => `${path}: ${fault}`)
}

const combinations: ReadonlyArray<Required<VisitorOptions>> = [
  { language: "id", theme: "light", device: "phone" },
  { language: "en", theme: "dark", device: "phone" },
  { language: "en", theme: "light", device: "desktop" },
  { language: "id", theme: "dark", device: "desktop" }
]

describe.skipIf(isMissing)("every page", () => {
  it.each(combinations)(
    "is accessible and causes no error in the browser: $language, $theme, $device",
    async (options) => {
      const visitor = await Visitor.arrive(browser, server.url, options)
      const found: Array<string> = []
      for (const path of [
        "/",
        "/console",
        "/console/signup",
        "/console/waiting",
        "/console/nowhere",
        "/console/login"
      ]) {
        await visitor.open(path)
        found.push(...(await faults(visitor, path)))
      }
      await visitor.enter(session)
      found.push(...(await faults(visitor, "home")))
      const inside = ["mint", "customers", "topups", "topups/new", "usage", "account"].map((page) => `/console/${page}`)
      for (const path of [...inside, customerPath, orderPath]) {
        await visitor.follow(path)
        found.push(...(await faults(visitor, path)))
      }
      expect(await visitor.page.title()).not.toContain("taken over")
      await visitor.follow("/console/account")
      await visitor.page
        .getByRole("main")
        .getByRole("button", { name: /^(Keluar|Log out)$/ })
        .click()
      await visitor.at("/console")
      await visitor.follow("/console/key")
      found.push(...(await faults(visitor, "key")))
      await visitor.fill({ key: secret })
      await visitor.submit()
      await visitor.at("/console/balance")
      found.push(...(await faults(visitor, "balance")))
      await visitor.follow("/console/clients")
      found.push(...(await faults(visitor, "clients")))
      expect(found).toEqual([])
      expect(visitor.troubles).toEqual([])
      expect(visitor.foreignRequests).toEqual([])
      await visitor.leave()
    }
  )
})

describe.skipIf(isMissing)("a name with markup, right-to-left text or 200 emoji", () => {
  it("is shown as text", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    await visitor.enter(session)
    await visitor.follow("/console/account")
    expect(await visitor.page.getByRole("main").getByText(NAME).count()).toBe(1)
    await visitor.follow(customerPath)
    for (const name of KEY_NAMES) expect(await visitor.page.locator(".row-main", { hasText: name }).count()).toBe(1)
    await visitor.page.getByRole("main").locator("li", { hasText: MARKUP }).getByRole("button").click()
    await visitor.page.getByRole("dialog").getByText(MARKUP).first().waitFor()
    expect(await visitor.page.locator("img").count()).toBe(0)
    expect(visitor.requests.filter((url) => url.includes("stolen"))).toEqual([])
    expect(visitor.troubles).toEqual([])
    await visitor.leave()
  })
})

const MAX_BYTES = 80 * 1024

describe.skipIf(isMissing)("a first visit", () => {
  it("loads at most 80 KiB, including the pages of a reseller", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    await visitor.enter(session)
    await visitor.settled()
    const bytes = await visitor.page.evaluate(() => {
      const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      const files = entries.filter(({ name }) => !new URL(name).pathname.startsWith("/api/"))
      return files.reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0)
    })
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
    await visitor.leave()
  })

  it("can be used with the keyboard alone", async () => {
    const visitor = await Visitor.arrive(browser, server.url, { device: "desktop" })
    await visitor.open("/console")
    const stops: Array<string> = []
    for (let i = 0; i < 6; i++) {
      await visitor.page.keyboard.press("Tab")
      stops.push(
        await visitor.page.evaluate(() => {
          const at = document.activeElement as HTMLElement
          const { outlineStyle } = getComputedStyle(at)
          return `${at.getAttribute("href")} ${outlineStyle === "none" ? "unseen" : "seen"}`
        })
      )
    }
    const ways = ["#content", "/console", "/console/login", "/console/signup", "/console/login", "/console/key"]
    expect(stops).toEqual(ways.map((way) => `${way} seen`))
    await visitor.page.keyboard.press("Enter")
    await visitor.at("/console/key")
    await visitor.page.waitForFunction(() => document.activeElement?.tagName === "H1")
    await visitor.leave()
  })
})
