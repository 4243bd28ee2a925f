/**
 * Tests the rankings page in a headless browser. The tests are skipped on a machine that cannot start the browser.
 */
import type { BrowserContextOptions, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import {
  catalogOf,
  closeGateways,
  startGateway,
  type TestGateway
} from "../adapters-http/inference/relay/TestGateway.ts"
import { violationsOf } from "../support/pages/Axe.ts"
import * as BelievableHistory from "../support/rankings/BelievableHistory.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"
import { contrast, headingsOf, namelessControls } from "../support/rankings/PageChecks.ts"
import { RememberedRankings } from "../support/rankings/RememberedRankings.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of the rankings page")

let rankings: RememberedRankings
let gateway: TestGateway
let browserErrors: Array<string>
let requestedUrls: Array<string>

beforeAll(async () => {
  rankings = new RememberedRankings()
  gateway = await startGateway({ catalog: catalogOf({}), rankings: rankings.layer })
})
afterAll(async () => {
  if (!isMissing) await browser.close()
  await closeGateways()
})
beforeEach(() => {
  rankings.reset()
  browserErrors = []
  requestedUrls = []
})
afterEach(async () => {
  if (isMissing) return
  await Promise.all(browser.contexts().map((context) => context.close()))
})

/**
 * Opens the page and waits until it has this state. Records its console errors, console warnings and uncaught
 * exceptions in `browserErrors`, and its requests in `requestedUrls`. Requests that match `lost` fail.
 */
const visit = async (
  path = "/rankings",
  options: BrowserContextOptions = {},
  state = "ready",
  lost = ""
): Promise<Page> => {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") browserErrors.push(message.text())
  })
  page.on("pageerror", (error) => browserErrors.push(error.message))
  page.on("request", (request) => requestedUrls.push(request.url()))
  if (lost !== "") await page.route(lost, (route) => route.abort())
  await page.clock.install({ time: BelievableHistory.now })
  await page.goto(`${gateway.url}${path}`)
  await page.locator(`main[data-state="${state}"]`).waitFor()
  return page
}

const text = async (page: Page, selector: string) => ((await page.locator(selector).textContent()) ?? "").trim()
const leaders = (page: Page) => page.locator("#leaders-body .model").allTextContents()

describe.skipIf(isMissing)("the rankings page", () => {
  it("loads everything from the gateway", async () => {
    const page = await visit()
    expect(await page.title()).toBe("Model rankings · tollgate")
    expect(await text(page, "#total")).toMatch(/^\d{2},\d{3},\d{3},\d{3}$/)
    expect((await leaders(page)).length).toBe(15)
    expect(await page.locator("#chart canvas").count()).toBe(1)
    expect(browserErrors).toEqual([])
    expect(requestedUrls.length).toBeGreaterThan(8)
    expect(requestedUrls.filter((url) => !url.startsWith(`${gateway.url}/`))).toEqual([])
  })

  it("works without the chart library", async () => {
    const page = await visit("/rankings", {}, "ready", "**/uplot.js")
    expect(await page.locator("#chart").isVisible()).toBe(false)
    expect(await leaders(page)).toHaveLength(15)
    expect(await page.locator("#usage-table tbody tr").count()).toBe(8)
    expect(await page.locator("#notice").isVisible()).toBe(false)
  })

  it("can run only its own scripts", async () => {
    const page = await visit()
    const response = await fetch(`${gateway.url}/rankings`)
    expect(response.headers.get("content-security-policy")).toMatch(/default-src 'none'.*script-src 'self'/)
    const ran = await page.evaluate(() => {
      const script = document.createElement("script")
      script.textContent = "document.title = 'taken over'"
      document.head.append(script)
      return document.title
    })
    expect(ran).toBe("Model rankings · tollgate")
    expect(browserErrors.join("\n")).toContain("Content Security Policy")
  })

  it("shows model names as text", async () => {
    rankings.displayName = `<img src="/stolen" onerror="document.title='taken over'">`
    const page = await visit()
    expect((await leaders(page))[0]).toBe(rankings.displayName)
    expect(await page.locator("img").count()).toBe(0)
    expect(await page.title()).toBe("Model rankings · tollgate")
    expect(browserErrors).toEqual([])
  })

  it("shows the window that the reader selects", async () => {
    const page = await visit()
    const week = await text(page, "#total")
    await page.getByLabel("30 days").check()
    await page.waitForFunction((before) => document.querySelector("#total")?.textContent !== before, week)
    expect(await text(page, "#total-said")).toMatch(/^tokens in the last 30 days · up .*% from the 30 days before$/)
    expect(await text(page, "#announcement")).toMatch(/^186B tokens in the last 30 days\. Kestrel Swift 2 leads\.$/)
    expect(page.url()).toBe(`${gateway.url}/rankings?window=month`)
    expect(await page.getAttribute("#feed", "href")).toBe("/api/rankings?window=month")
    expect(await page.locator("#usage-table tbody tr").count()).toBe(31)
    await page.reload()
    await page.locator('main[data-state="ready"]').waitFor()
    expect(await page.getByLabel("30 days").isChecked()).toBe(true)
  })

  it.each(["day", "week", "month", "all"])("draws the chart of the window %s", async (window) => {
    const page = await visit(`/rankings?window=${window}`)
    const drawn = await page.locator("#chart canvas").evaluate((canvas) => {
      const { width, height } = canvas as HTMLCanvasElement
      const pixels = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height).data ?? []
      const colours = new Set<number>()
      for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i + 3] === 255)
          colours.add(((pixels[i] ?? 0) << 16) | ((pixels[i + 1] ?? 0) << 8) | (pixels[i + 2] ?? 0))
      }
      return ["2a78d6", "d9571f", "11956a", "b57b00"].filter((colour) => colours.has(Number.parseInt(colour, 16)))
    })
    expect(drawn).toHaveLength(4)
    expect(browserErrors).toEqual([])
  })

  it("shows a table whose token counts add up to the total", async () => {
    const page = await visit()
    const [head] = await page.locator("#usage-table thead tr").allInnerTexts()
    expect(await page.locator("#usage-table tbody tr").count()).toBe(8)
    const totals = await page.locator("#usage-table tbody td:last-child").allTextContents()
    const sum = totals.reduce((all, each) => all + Number(each.replaceAll(",", "")), 0)
    expect(sum.toLocaleString("en-US")).toBe(await text(page, "#total"))
    expect(head).toBeDefined()
  })

  it("shows the whole leaderboard when the reader clicks the button", async () => {
    const page = await visit("/rankings?window=all")
    const more = page.locator("#more-leaders")
    expect(await more.getAttribute("aria-expanded")).toBe("false")
    await more.click()
    expect(await more.getAttribute("aria-expanded")).toBe("true")
    expect(await leaders(page)).toHaveLength(18)
    expect(await leaders(page)).not.toContain("House Model")
    expect(await text(page, "#leaders-body tr:last-child th")).toBe("Other models")
  })

  it("refreshes its data after a minute", async () => {
    const page = await visit()
    const before = requestedUrls.filter((url) => url.includes("/api/rankings")).length
    await page.clock.runFor(61_000)
    await page.waitForFunction(() => document.querySelector("main")?.getAttribute("aria-busy") === null)
    expect(requestedUrls.filter((url) => url.includes("/api/rankings")).length).toBe(before + 1)
    expect(await text(page, "#announcement")).toBe("")
  })

  it.each([-2, 0, 2])(
    "refreshes its data when it is shown again, with a device clock that is wrong by %i hours",
    async (hours) => {
      const page = await visit()
      await page.clock.setSystemTime(BelievableHistory.now.getTime() + hours * 3_600_000)
      await page.reload()
      await page.locator('main[data-state="ready"]').waitFor()
      const show = (state: string) =>
        page.evaluate((value) => {
          Object.defineProperty(document, "visibilityState", { value, configurable: true })
          document.dispatchEvent(new Event("visibilitychange"))
        }, state)
      await show("hidden")
      await page.clock.runFor(61_000)
      const before = requestedUrls.length
      await show("visible")
      await expect.poll(() => requestedUrls.slice(before)).toEqual([`${gateway.url}/api/rankings?window=week`])
    }
  )
})

describe.skipIf(isMissing)("the language of the rankings page", () => {
  it("is the language of the browser", async () => {
    const page = await visit("/rankings?window=month", { locale: "id-ID" })
    expect(await page.getAttribute("html", "lang")).toBe("id")
    expect(await page.title()).toBe("Peringkat model · tollgate")
    expect(await text(page, "#total")).toMatch(/^\d{3}\.\d{3}\.\d{3}\.\d{3}$/)
    expect(await text(page, "#total-said")).toMatch(
      /^token dalam 30 hari terakhir · naik .*% dibandingkan 30 hari sebelumnya$/
    )
    await page.getByRole("link", { name: "English" }).click()
    await page.locator('main[data-state="ready"]').waitFor()
    expect(page.url()).toBe(`${gateway.url}/rankings?lang=en&window=month`)
    expect(await page.getAttribute("html", "lang")).toBe("en")
    expect(await text(page, "#total")).toMatch(/^\d{3},\d{3},\d{3},\d{3}$/)
    expect(await page.getByLabel("30 days").isChecked()).toBe(true)
    expect(browserErrors).toEqual([])
  })

  it("is English for the invalid language en-US@posix", async () => {
    const page = await visit("/rankings", { locale: "en-US@posix" })
    expect(await page.getAttribute("html", "lang")).toBe("en")
    expect(await page.locator("#chart canvas").count()).toBe(1)
    expect(await leaders(page)).toHaveLength(15)
    expect(await page.getAttribute("main", "aria-busy")).toBeNull()
    expect(browserErrors).toEqual([])
  })
})

describe.skipIf(isMissing)("the notices of the rankings page", () => {
  it("state that the window contains no usage", async () => {
    rankings.used = false
    const page = await visit("/rankings", {}, "empty")
    expect(await text(page, "#notice-title")).toBe("No tokens in this time window")
    expect(await text(page, "#total")).toBe("0")
    expect(await page.locator("#leaderboard").isVisible()).toBe(false)
    expect(browserErrors).toEqual([])
  })

  it("announce that the rankings cannot be loaded", async () => {
    rankings.readable = false
    const page = await visit("/rankings", {}, "error")
    expect(await text(page, "#announcement")).toBe("The rankings could not be loaded")
    rankings.readable = true
    await page.getByRole("button", { name: "Try again" }).click()
    await page.locator('main[data-state="ready"]').waitFor()
    expect(await page.locator("#notice").isVisible()).toBe(false)
  })

  it("state that the data is out of date when a refresh fails", async () => {
    const page = await visit()
    rankings.forget()
    rankings.readable = false
    await page.clock.runFor(61_000)
    await page.locator("#notice").waitFor()
    expect(await text(page, "#notice-title")).toBe("These figures are out of date")
    expect(await page.locator("#leaderboard").isVisible()).toBe(true)
  })

  it("state that rankings are disabled", async () => {
    rankings.enabled = false
    const page = await visit("/rankings", {}, "disabled")
    expect(await text(page, "#notice-title")).toBe("Rankings are not published here")
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0)
  })
})

describe.skipIf(isMissing)("the accessible rankings page", () => {
  it.each(["light", "dark"] as const)("has enough contrast in the %s colour scheme", async (colorScheme) => {
    const page = await visit("/rankings", { colorScheme })
    const { texts, marks } = await contrast(page)
    expect(texts.filter(({ ratio }) => ratio < 4.5)).toEqual([])
    expect(marks.filter(({ ratio }) => ratio < 3)).toEqual([])
    expect(texts.length + marks.length).toBeGreaterThan(15)
  })

  it.each([
    ["light", "en"],
    ["dark", "id"]
  ] as const)("violates no rule of axe (%s colour scheme, language %s)", async (colorScheme, lang) => {
    const page = await visit(`/rankings?lang=${lang}`, { colorScheme })
    expect(await violationsOf(page)).toEqual([])
  })

  it("has ordered headings and named controls", async () => {
    const page = await visit()
    const levels = await headingsOf(page)
    expect(levels[0]).toBe(1)
    expect(levels.filter((level) => level === 1)).toHaveLength(1)
    for (const [i, level] of levels.entries()) expect(level - (levels[i - 1] ?? 0)).toBeLessThanOrEqual(1)
    expect(await namelessControls(page)).toEqual([])
    expect(await page.getAttribute("html", "lang")).toBe("en")
    for (const table of await page.locator("table").all()) {
      const unscoped = await table.locator("th:not([scope])").count()
      expect(unscoped).toBe(0)
    }
  })

  it("can be used with the keyboard alone", async () => {
    const page = await visit()
    const stops: Array<string> = []
    for (let i = 0; i < 9; i++) {
      await page.keyboard.press("Tab")
      const stop = await page.evaluate(() => {
        const at = document.activeElement as HTMLElement
        const shown = at instanceof HTMLInputElement ? (at.nextElementSibling as HTMLElement) : at
        const { outlineStyle, outlineWidth } = getComputedStyle(shown)
        const name = at.id === "" ? (at.getAttribute("href") ?? at.getAttribute("value") ?? at.tagName) : at.id
        return `${name} ${outlineStyle === "none" || outlineWidth === "0px" ? "unseen" : "seen"}`
      })
      stops.push(stop)
    }
    expect(stops).toEqual([
      "#leaderboard seen",
      "/docs seen",
      "feed seen",
      "?lang=id&window=week seen",
      "?lang=en&window=week seen",
      "week seen",
      "chart seen",
      "SUMMARY seen",
      "more-leaders seen"
    ])
    await page.locator("#chart").focus()
    await page.keyboard.press("End")
    expect(await page.getAttribute("#chart", "aria-valuenow")).toBe("7")
    expect(await page.getAttribute("#chart", "aria-valuetext")).toMatch(
      /^Fri,? 20 Nov \(partial\): .* tokens; leading model: /
    )
    await page.keyboard.press("ArrowLeft")
    expect(await text(page, "#readout-when")).toMatch(/^Thu,? 19 Nov$/)
    await page.keyboard.press("Escape")
    expect(await text(page, "#readout-when")).toBe("In the last 7 days")
    await page.locator('input[value="week"]').focus()
    await page.keyboard.press("ArrowRight")
    await page.waitForFunction(() => location.search === "?window=month")
  })

  it.each([375, 320])("fits a phone that is %i pixels wide", async (width) => {
    const page = await visit("/rankings?window=all", {
      viewport: { width, height: 700 },
      isMobile: true,
      hasTouch: true
    })
    const wide = () =>
      page.evaluate(() => {
        const room = document.documentElement.clientWidth
        const inScroller = (one: Element) => one.closest(".scroll, .unseen, .skip") !== null
        return [...document.querySelectorAll("body *")]
          .filter((one) => !inScroller(one) && one.getBoundingClientRect().right > room + 0.5)
          .map((one) => `${one.tagName}.${one.className} ${one.id}`)
      })
    expect(await wide()).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    await page.locator("summary").tap()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  })
})
