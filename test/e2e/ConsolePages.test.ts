/**
 * Opens the pages of visitors, resellers and customers, with names that contain markup, right-to-left text and emoji.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { EMAIL, EMOJI, MARKUP, RIGHT_TO_LEFT } from "../support/console/HostileTexts.ts"
import { combinations } from "../support/console/Matrix.ts"
import { Visitor } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of the console's pages")

vi.setConfig({ testTimeout: 120_000 })

const NAME = `${MARKUP} $& ${RIGHT_TO_LEFT}`
const RESELLER = "markup@toko.example"
const PASSWORD = "correct horse battery"
const CUSTOMER = EMAIL
/** A customer whose email the browser accepts in a form. */
const BUYER = "sari@pages.example"
const MODEL = "<img/src=/stolen/onerror=alert(1)>متجر🚧$&"
const KEY_NAMES = [MARKUP, RIGHT_TO_LEFT, EMOJI]

let server: ConsoleServer
let session = ""
let secret = ""
let customerPath = ""
let orderPath = ""

const asReseller = (token: string, path: string, body: object) =>
  server.send("POST", `/api/reseller${path}`, token, body)

const addModel = async (operator: string): Promise<void> => {
  const { version: _, ...catalog } = await server.send("GET", "/api/operator/catalog", operator)
  const models = catalog.models as ReadonlyArray<{ readonly model_id: string }>
  const [{ model_id: __, ...demo } = { model_id: "" }] = models
  const tiers = [{ tier_usd_cents: 100, granted_tokens: 1_000 }]
  const hostile = { ...demo, public_name: MODEL, display_name: NAME, author: RIGHT_TO_LEFT, tiers }
  const changed = { catalog: { ...catalog, models: [...models, hostile] } }
  await server.send("POST", "/api/operator/catalog/apply", operator, changed)
}

/** Returns the id of the tier of the added model, as soon as the server has loaded the catalog. */
const hostileTier = async (token: string): Promise<string | undefined> => {
  const { tiers } = await server.send("GET", "/api/reseller/tiers", token)
  const listed = tiers as ReadonlyArray<{ readonly plan_tier_id: string; readonly model_name: string }>
  return listed.find(({ model_name }) => model_name === MODEL)?.plan_tier_id
}

beforeAll(async () => {
  if (isMissing) return
  server = await ConsoleServer.start({ PUBLIC_PRICES: "on" })
  const operator = await server.operatorToken("ani")
  await addModel(operator)
  await asReseller("", "/auth/signup", { email: RESELLER, password: PASSWORD, name: NAME, wa_number: "6281234567890" })
  await server.send("POST", `/api/operator/resellers/${RESELLER}/review`, operator, { move: "approve" })
  // One login for all tests, because the attempts of a minute are limited.
  const token = String((await asReseller("", "/auth/login", { email: RESELLER, password: PASSWORD })).token)
  session = JSON.stringify({ kind: "reseller", token, reseller: { id: "any", email: RESELLER, name: NAME } })
  const { user_id } = await asReseller(token, "/customers", { email: CUSTOMER })
  for (const name of KEY_NAMES) {
    const limits = { models: [MODEL], tokens_per_minute: 1_000_000 }
    secret = String((await asReseller(token, `/customers/${user_id}/keys`, { name, limits })).secret)
  }
  const adjustment = { amount_usd_micro: "2000000", operation_id: "test", reason: MARKUP }
  await server.send("POST", `/api/operator/resellers/${RESELLER}/quota`, operator, adjustment)
  const plan_tier_id = await vi.waitUntil(() => hostileTier(token), { timeout: 60_000 })
  await asReseller(token, "/mint", { operation_id: NAME, customer_email: CUSTOMER, plan_tier_id })
  const chat = { model: MODEL, max_tokens: 10, messages: [{ role: "user", content: "Hello" }] }
  await server.send("POST", "/v1/chat/completions", secret, chat)
  const { id } = await asReseller(token, "/topup", { method: "crypto_bep20", amount_usd_micro: 25_000_123 })
  customerPath = `/console/customers/${user_id}`
  orderPath = `/console/topups/${id}`
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

const faults = async (visitor: Visitor, path: string): Promise<ReadonlyArray<string>> => {
  await visitor.settled()
  return (await visitor.faults()).map((fault) => `${path}: ${fault}`)
}

describe.skipIf(isMissing)("the pages of visitors, resellers and customers", () => {
  it.each(combinations(2))("are accessible: $language, $theme, $device", async (options) => {
    const visitor = await Visitor.arrive(browser, server.url, options)
    const found: Array<string> = []
    for (const path of [
      "/",
      "/console",
      "/console/signup",
      "/console/waiting",
      "/console/nowhere",
      "/console/login",
      "/console/operator"
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
    expect(visitor.browserErrors).toEqual([])
    expect(visitor.foreignRequests).toEqual([])
    await visitor.leave()
  })
})

describe.skipIf(isMissing)("a name with markup or emoji", () => {
  it("is shown as text", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    await visitor.open("/")
    for (const text of [MODEL, NAME, RIGHT_TO_LEFT]) await visitor.sees(text)
    await visitor.enter(session)
    for (const text of [CUSTOMER, MODEL]) await visitor.sees(text)
    const shown: ReadonlyArray<readonly [path: string, ...texts: ReadonlyArray<string>]> = [
      ["/console/account", NAME, RESELLER],
      ["/console/customers", CUSTOMER],
      ["/console/mint", MODEL, CUSTOMER],
      ["/console/usage", MODEL, CUSTOMER],
      [customerPath, CUSTOMER, MODEL, ...KEY_NAMES]
    ]
    for (const [path, ...texts] of shown) {
      await visitor.follow(path)
      for (const text of texts) await visitor.sees(text)
      expect(await visitor.page.locator("main img, main svg[onload]").count()).toBe(0)
    }
    for (const button of ["Limits", "Revoke"]) {
      await visitor.press(`${button} ${MARKUP}`)
      await visitor.page.getByRole("dialog").getByText(MARKUP).first().waitFor()
      await visitor.page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
    }
    expect(await visitor.page.locator("img").count()).toBe(0)
    expect(visitor.requests.filter((url) => url.includes("stolen"))).toEqual([])
    expect(visitor.browserErrors).toEqual([])
    await visitor.leave()
  })

  it("is shown as text to the customer", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    // The chart must be drawn with an invalid language too.
    await visitor.page.addInitScript(() => {
      Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true })
    })
    await visitor.open("/console/key")
    await visitor.fill({ key: secret })
    await visitor.submit()
    await visitor.at("/console/balance")
    await visitor.sees(MODEL)
    await visitor.page.locator(".chart canvas").waitFor()
    await visitor.follow("/console/clients")
    await visitor.sees(MODEL)
    expect(await visitor.page.locator("img").count()).toBe(0)
    expect(visitor.requests.filter((url) => url.includes("stolen"))).toEqual([])
    expect(visitor.browserErrors).toEqual([])
    await visitor.leave()
  })
})

describe.skipIf(isMissing)("a request whose response was lost", () => {
  const refusal = (status: number, code: string) => ({
    status,
    headers: { "content-type": "application/json", "retry-after": "1" },
    body: JSON.stringify({ error: { code, message: "Refused.", details: [] } })
  })

  it("mints once after two refused repeats", async () => {
    const { token } = JSON.parse(session) as { readonly token: string }
    const mints = async () => (await server.send("GET", "/api/reseller/mints", token)).data as ReadonlyArray<unknown>
    const before = (await mints()).length
    const visitor = await Visitor.arrive(browser, server.url)
    const { page } = visitor
    await visitor.enter(session)
    await visitor.follow("/console/mint")
    await visitor.fill({ email: BUYER })
    await page.locator("label.tier", { hasText: MODEL }).click()
    await visitor.submit()
    await page.route("**/api/reseller/mint", async (route) => {
      await route.fetch()
      await route.abort()
    })
    await visitor.press("Mint now")
    await visitor.sees("The result is unknown")
    expect(await mints()).toHaveLength(before + 1)
    for (const response of [refusal(429, "rate_limited"), refusal(401, "invalid_credentials")]) {
      await page.unroute("**/api/reseller/mint")
      await page.route("**/api/reseller/mint", (route) => route.fulfill(response))
      await visitor.press("Send again")
      if (response.status === 401) await visitor.at("/console/login")
      else await visitor.sees("Too many attempts")
      await visitor.enter(session)
      await visitor.follow("/console/mint")
      await visitor.sees("The result is unknown")
      expect(await page.getByRole("button", { name: "Back" }).count()).toBe(0)
    }
    await page.unroute("**/api/reseller/mint")
    await visitor.press("Send again")
    await visitor.sees(`${BUYER} received`)
    expect(await mints()).toHaveLength(before + 1)
    await visitor.leave()
  })

  it("creates one order after a refused repeat", async () => {
    const { token } = JSON.parse(session) as { readonly token: string }
    const orders = async () => Number((await server.send("GET", "/api/reseller/topups", token)).total)
    const before = await orders()
    const visitor = await Visitor.arrive(browser, server.url)
    const { page } = visitor
    const ids: Array<string> = []
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/topup")) ids.push(request.postDataJSON().operation_id)
    })
    await visitor.enter(session)
    await visitor.follow("/console/topups/new")
    await visitor.fill({ amount: "60000" })
    await page.route("**/api/reseller/topup", async (route) => {
      await route.fetch()
      await route.abort()
    })
    await visitor.submit()
    await visitor.sees("The result is unknown")
    await page.unroute("**/api/reseller/topup")
    await page.route("**/api/reseller/topup", (route) => route.fulfill(refusal(429, "rate_limited")))
    await visitor.press("Send again")
    await visitor.sees("You have too many unpaid orders")
    await visitor.sees("The result is unknown")
    await page.unroute("**/api/reseller/topup")
    await visitor.press("Send again")
    await visitor.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(1)
    expect(await orders()).toBe(before + 1)
    await visitor.leave()
  })
})

describe.skipIf(isMissing)("a page for which the visitor has to log in", () => {
  it("leads a reseller to the home page of resellers if the page belongs to customers", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    await visitor.open("/console/balance")
    await visitor.at("/console/key")
    await visitor.page.getByRole("link", { name: "Log in" }).first().click()
    await visitor.at("/console/login")
    await visitor.logIn(RESELLER, PASSWORD)
    await visitor.at("/console/home")
    await visitor.settled()
    await visitor.leave()
  })

  it("opens after the login", async () => {
    const visitor = await Visitor.arrive(browser, server.url)
    await visitor.open("/console/key")
    await visitor.fill({ key: secret })
    await visitor.submit()
    await visitor.at("/console/balance")
    await visitor.follow("/console/nowhere")
    await visitor.page.getByRole("button", { name: "Forget the key" }).click()
    await visitor.page.getByRole("link", { name: "Log in" }).first().waitFor()
    await visitor.follow("/console/login")
    await visitor.page.evaluate(() => {
      const link = document.createElement("a")
      link.href = "/console/customers"
      document.body.append(link)
      link.click()
      link.remove()
    })
    await visitor.at("/console/login")
    await visitor.logIn(RESELLER, PASSWORD)
    await visitor.at("/console/customers")
    await visitor.leave()
  })
})

const MAX_BYTES = 80 * 1024

describe.skipIf(isMissing)("a first visit", () => {
  it("to the pages of a reseller loads at most 80 KiB", async () => {
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

  it("reaches the page for an API key with the keyboard alone", async () => {
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
