/**
 * Tests the documentation page in a headless browser. The tests are skipped on a machine that cannot start the browser.
 */
import { readImageRequest } from "@tollgate/domain/images/ReadImageRequest"
import { Either } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { demoCatalog } from "../../apps/server/src/development/DemoCatalog.ts"
import {
  catalogOf,
  closeGateways,
  startGateway,
  type TestGateway
} from "../adapters-http/inference/relay/TestGateway.ts"
import { document as specification } from "../support/openapi/Document.ts"
import { violationsOf } from "../support/pages/Axe.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of the documentation page")

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ catalog: catalogOf({}) })
})
afterAll(async () => {
  if (!isMissing) await browser.close()
  await closeGateways()
})

interface Visit {
  readonly page: Page
  readonly requestedUrls: ReadonlyArray<string>
  readonly loadErrors: ReadonlyArray<string>
  /** The errors and warnings during and after the load of the page. */
  readonly browserErrors: ReadonlyArray<string>
}

const visit = async (): Promise<Visit> => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const browserErrors: Array<string> = []
  const requestedUrls: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") browserErrors.push(message.text())
  })
  page.on("pageerror", (error) => browserErrors.push(error.message))
  page.on("request", (request) => requestedUrls.push(request.url()))
  await page.goto(`${gateway.url}/docs`)
  return { page, requestedUrls: [...requestedUrls], loadErrors: [...browserErrors], browserErrors }
}

describe("the documentation file", () => {
  it("loads nothing from another host", async () => {
    const plain = await fetch(`${gateway.url}/docs`, { headers: { "accept-encoding": "identity" } })
    const page = await plain.text()
    expect(page.length).toBeLessThan(700_000)
    const compressed = await fetch(`${gateway.url}/docs`, { headers: { "accept-encoding": "gzip" } })
    expect(compressed.headers.get("content-encoding")).toBe("gzip")
    expect(Buffer.from(await compressed.arrayBuffer()).toString()).toBe(page)
    const markup = page.replace(/<(script|style)>[\s\S]*?<\/\1>/g, "")
    expect(markup).not.toMatch(/\b(src|href|action)="(?!#|\/[^/])/)
    expect(page).not.toMatch(/@import|url\(/)
  })

  it("shows every operation of the OpenAPI document once", async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text()
    const operations = Object.values(specification.paths).flatMap((methods) => Object.values(methods))
    expect(page.match(/<article class="operation"/g)).toHaveLength(operations.length)
    for (const { summary = "" } of operations) expect(page).toContain(`>${summary.replaceAll("'", "&#39;")}</a></h3>`)
  })

  it("shows a command for an image edit whose form is accepted", async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text()
    const [, command = ""] = /<code>(curl [^<]*\/v1\/images\/edits [^<]*)<\/code>/.exec(page) ?? []
    const fields = [...command.replaceAll("&quot;", '"').matchAll(/-F (\w+)=("[^"]*"|@\S+)/g)]
    const texts = new Map<string, unknown>()
    for (const [, name = "", value = ""] of fields) if (name !== "image") texts.set(name, JSON.parse(value))
    const source = { format: "png", widthPx: 1, heightPx: 1, bytes: new Uint8Array(1) } as const
    const request = readImageRequest("edit", texts, source)
    expect(fields.map(([, name, value]) => [name, value])).toContainEqual(["image", "@image.png"])
    expect(Either.getOrThrow(request)).toMatchObject({ model: "demo-image-edit", prompt: expect.any(String) })
  })

  it("names only models of the demo catalog in its examples", () => {
    const names = new Set(demoCatalog("http://127.0.0.1:1").models.map(({ publicName }) => publicName as string))
    const used = [...JSON.stringify(specification).matchAll(/"(?:model|model_name|public_name)":"([^"]+)"/g)]
    expect(used.length).toBeGreaterThan(10)
    expect([...new Set(used.map(([, name = ""]) => name))].filter((name) => !names.has(name))).toEqual([])
  })
})

describe.skipIf(isMissing)("the documentation page in a browser", () => {
  // Most tests share two pages, because each visit starts a process.
  let visited: Visit
  let pageForAxe: Page
  beforeAll(async () => {
    visited = await visit()
    pageForAxe = (await visit()).page
    for (const summary of await pageForAxe.locator("#create-chat-completion summary").all()) await summary.click()
  })

  it("loads only itself and its icon", async () => {
    const { requestedUrls, loadErrors } = visited
    expect(
      requestedUrls.filter((url) => ![`${gateway.url}/docs`, `${gateway.url}/rankings/icon.svg`].includes(url))
    ).toEqual([])
    expect(loadErrors).toEqual([])
  })

  it("runs no script but its own", async () => {
    const { page, browserErrors } = visited
    const title = await page.evaluate(() => {
      const script = document.createElement("script")
      script.textContent = "document.title = 'taken over'"
      document.head.append(script)
      return document.title
    })
    expect(title).toBe("API reference · tollgate")
    expect(browserErrors.join("\n")).toContain("Content Security Policy")
  })

  it.each([
    ["dark", 1440, "colors"],
    ["light", 375, "all"]
  ] as const)("violates no rule of axe in the %s theme at %i pixels (rules: %s)", async (colorScheme, width, rules) => {
    await pageForAxe.emulateMedia({ colorScheme })
    await pageForAxe.setViewportSize({ width, height: 800 })
    expect(await violationsOf(pageForAxe, rules)).toEqual([])
    expect(await pageForAxe.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  })

  it("shows the URL of this server in the examples", async () => {
    const { page } = visited
    expect(await page.locator("#tab-panel-0 code").textContent()).toContain(`curl ${gateway.url}/v1/chat/completions`)
    expect(await page.locator("main").textContent()).not.toContain("http://127.0.0.1:8080")
  })

  it("can be used with the keyboard", async () => {
    const { page } = await visit()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main")
    await page.locator("#filter").focus()
    await page.keyboard.type("post mint tier")
    expect(await page.locator(".contents .group li:visible").allTextContents()).toEqual([
      "POST Mint a tier to a customer"
    ])
    await page.locator("#tab-0").focus()
    await page.keyboard.press("ArrowRight")
    expect(await page.locator("#tab-panel-0").isVisible()).toBe(false)
    expect(await page.locator("#tab-panel-1").textContent()).toContain("from openai import OpenAI")
    await page.locator('.contents a[href="#mint-tier"]').focus()
    await page.keyboard.press("Enter")
    expect(await page.evaluate(() => location.hash)).toBe("#mint-tier")
  })

  it("shows the response to a request from a form", async () => {
    const { page } = visited
    const place = page.locator('.try[data-path="/v1/models/{model}"]')
    await place.locator("summary").click()
    await place.getByLabel("model").fill("no-such-model")
    await place.getByRole("button", { name: "Send" }).click()
    await place.getByText("Status 401").waitFor()
    expect(JSON.parse((await place.locator("pre").textContent()) ?? "")).toHaveProperty("error.code", "invalid_api_key")
  })
})
