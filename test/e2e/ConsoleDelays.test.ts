/**
 * Uses the console while responses are late, fail, or belong to an action that the user has left.
 */
import type { Browser, Route } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { Visitor } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const opened = await HeadlessBrowser.open()
if (typeof opened === "string")
  console.warn(`the tests of late responses are skipped because the browser cannot be started (${opened})`)
const browser = opened as Browser
const isMissing = typeof opened === "string"

vi.setConfig({ testTimeout: 120_000 })

const PASSWORD = "correct horse battery"
const RESELLER = "toko@delays.example"
const CUSTOMER = "sari@delays.example"
const BUYER = "budi@delays.example"

let server: ConsoleServer
let visitor: Visitor
let operatorToken = ""
let operatorSession = ""
let resellerSession = ""
let resellerToken = ""
let resellerId = ""
let customerPath = ""
let keyId = ""

const send = (token: string, path: string, body: object) => server.send("POST", path, token, body)

const signUp = (email: string, name: string) =>
  send("", "/api/reseller/auth/signup", { email, password: PASSWORD, name, wa_number: "6281234567890" })

const operatorOf = async (name: string) => {
  const token = await server.operatorToken(name)
  return { token, session: JSON.stringify({ kind: "operator", token, actor: name }) }
}

beforeAll(async () => {
  if (isMissing) return
  server = await ConsoleServer.start()
  const operator = await operatorOf("ani")
  operatorToken = operator.token
  operatorSession = operator.session
  await signUp(RESELLER, "Toko")
  await send(operator.token, `/api/operator/resellers/${RESELLER}/review`, { move: "approve" })
  const login = await send("", "/api/reseller/auth/login", { email: RESELLER, password: PASSWORD })
  resellerToken = String(login.token)
  resellerId = (login.reseller as { readonly id: string }).id
  resellerSession = JSON.stringify({ kind: "reseller", token: resellerToken, reseller: login.reseller })
  const { user_id } = await send(resellerToken, "/api/reseller/customers", { email: CUSTOMER })
  const keys = `/api/reseller/customers/${user_id}/keys`
  for (const name of ["laptop", "phone"]) keyId = String((await send(resellerToken, keys, { name })).key_id)
  customerPath = `/console/customers/${user_id}`
  visitor = await Visitor.arrive(browser, server.url)
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

afterEach(async ({ task }) => {
  if (isMissing) return
  await visitor.page.unrouteAll()
  if (task.result?.state !== "fail") return
  await visitor.leave()
  visitor = await Visitor.arrive(browser, server.url)
})

/** Opens a page in this session. If the session is open already, the browser does not load a new document. */
const enter = async (session: string, path: string): Promise<void> => {
  const { page } = visitor
  if (!page.url().startsWith(server.url)) await visitor.open("/console")
  const stored = await page.evaluate(() => sessionStorage.getItem("tollgate.session"))
  if (stored === session && page.url() !== `${server.url}${path}`) return visitor.follow(path)
  await page.evaluate((text) => sessionStorage.setItem("tollgate.session", text), session)
  await visitor.open(path)
  await visitor.settled()
}

/**
 * Withholds the response to the first request to these URLs. Returns a function that handles the request, and waits
 * until the page has read the response.
 */
const holdFirst = async (
  urls: string | RegExp
): Promise<(handle: (route: Route) => Promise<void>) => Promise<void>> => {
  let keep: (route: Route) => void = () => {}
  const held = new Promise<Route>((resolve) => {
    keep = resolve
  })
  await visitor.page.route(urls, (route) => keep(route), { times: 1 })
  return async (handle) => {
    const route = await held
    const ended = visitor.page.waitForEvent("requestfinished", (request) => request === route.request())
    await handle(route)
    await ended
    await visitor.page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
  }
}

const pass = (route: Route): Promise<void> => route.continue()

const readCatalog = () => server.send("GET", "/api/operator/catalog", operatorToken)

/** Returns the stored catalog as a file in which the first model has this display name. */
const catalogWith = async (name: string): Promise<object> => {
  const { version: _, ...catalog } = await readCatalog()
  const [first, ...others] = catalog.models as ReadonlyArray<object>
  return { ...catalog, models: [{ ...first, display_name: name }, ...others] }
}

/** Chooses the file of `catalogWith` and requests its changes. */
const chooseCatalog = async (name: string): Promise<void> => {
  const buffer = Buffer.from(JSON.stringify(await catalogWith(name)))
  await visitor.page.getByLabel("Catalog file (JSON)").setInputFiles([])
  await visitor.page
    .getByLabel("Catalog file (JSON)")
    .setInputFiles({ name: "c.json", mimeType: "application/json", buffer })
  await visitor.submit()
}

const inDialog = (name: string) => visitor.page.getByRole("dialog").getByRole("button", { name, exact: true })

describe.skipIf(isMissing).sequential("an operator", () => {
  it("decides about a reseller before the response to a cancelled decision arrives", async () => {
    await signUp("first@delays.example", "First")
    await signUp("second@delays.example", "Second")
    await enter(operatorSession, "/console/operator/home")
    const release = await holdFirst("**/review")
    await visitor.press("Approve First")
    await inDialog("Approve").click()
    await inDialog("Cancel").click()
    await visitor.press("Reject Second")
    await release(pass)
    await visitor.page.getByText("first@delays.example").waitFor({ state: "detached" })
    await inDialog("Reject").click()
    await visitor.page.getByText("second@delays.example").waitFor({ state: "detached" })
    expect(await server.operator("resellers", "show", "second@delays.example")).toMatch(/rejected/)
  })

  it("sees only the changes of the catalog file that it chose last", async () => {
    await enter(operatorSession, "/console/operator/catalog")
    const release = await holdFirst("**/catalog/preview")
    await chooseCatalog("Older file")
    await chooseCatalog("Newer file")
    await visitor.sees("Newer file")
    await release(pass)
    await visitor.sees("Newer file")
    expect(await visitor.page.getByText("Older file").count()).toBe(0)
  })

  it("does not replace a catalog that was applied after the preview", async () => {
    const storedNames = async () =>
      ((await readCatalog()).models as ReadonlyArray<{ readonly display_name: string }>).map(
        (model) => model.display_name
      )
    await enter(operatorSession, "/console/operator/catalog")
    await chooseCatalog("Own change")
    await visitor.sees("Own change")
    const change = { catalog: await catalogWith("Change of another operator") }
    await send(operatorToken, "/api/operator/catalog/apply", change)
    await visitor.press("Apply")
    await inDialog("Apply").click()
    await visitor.sees("The stored catalog has changed since the changes were shown.")
    await visitor.sees("Change of another operator")
    expect(await visitor.page.getByRole("dialog").count()).toBe(0)
    expect(await storedNames()).toContain("Change of another operator")
    await visitor.press("Apply")
    await inDialog("Apply").click()
    await visitor.sees("The catalog is applied.")
    expect(await storedNames()).toContain("Own change")
  })

  it("does not undo a change of limits that was made meanwhile", async () => {
    const limits = async () => (await server.send("GET", `/api/operator/keys/${keyId}`, operatorToken)).limits
    await enter(operatorSession, `/console/operator/keys/${keyId}`)
    await visitor.fill({ requests_per_minute: "60" })
    await server.send("PATCH", `/api/reseller/keys/${keyId}`, resellerToken, { limits: { tokens_per_minute: 1_000 } })
    await visitor.submit()
    await inDialog("Set the limits").click()
    await visitor.sees("Another operator or the reseller has changed the limits.")
    expect(await limits()).toMatchObject({ tokens_per_minute: 1_000, requests_per_minute: null })
    await expect.poll(() => visitor.page.inputValue('main input[name="tokens_per_minute"]')).toBe("1000")
    await visitor.fill({ requests_per_minute: "60" })
    await visitor.submit()
    await inDialog("Set the limits").click()
    await visitor.sees("The limits are set.")
    expect(await limits()).toMatchObject({ tokens_per_minute: 1_000, requests_per_minute: 60 })
    await visitor.fill({ requests_per_minute: "many" })
    await visitor.submit()
    await visitor.sees("Enter a whole number")
    expect(await visitor.page.getByText("The limits are set.").count()).toBe(0)
  })

  it("keeps a new booking when the response to a discarded booking arrives", async () => {
    await enter(operatorSession, `/console/operator/resellers/${resellerId}`)
    const release = await holdFirst("**/quota")
    const stored = () =>
      visitor.page.evaluate((key) => sessionStorage.getItem(key), `tollgate.booking quota ${resellerId}`)
    const prepare = async (amount: string) => {
      await visitor.fill({ amount, reason: "agreed" })
      await visitor.press("Continue")
      await visitor.sees("Balance afterwards")
    }
    await prepare("50")
    await visitor.press("Book now")
    await visitor.follow("/console/operator/home")
    await visitor.follow(`/console/operator/resellers/${resellerId}`)
    await visitor.press("Discard")
    await prepare("7")
    const later = await stored()
    await release(pass)
    expect(await stored()).toBe(later)
  })

  it("opens a new link in the tab whose session has ended", async () => {
    const { token, session } = await operatorOf("dewi")
    await enter(session, "/console/operator/service")
    await server.send("DELETE", "/api/operator/session", token)
    await visitor.page.getByRole("link", { name: "Nodes" }).click()
    await visitor.at("/console/operator")
    const [fragment = ""] = /#code=\S+/.exec(await server.operator("console", "--name", "dewi")) ?? []
    await visitor.page.evaluate((hash) => {
      location.hash = hash
    }, fragment)
    await visitor.at("/console/operator/nodes")
    expect(visitor.page.url()).not.toContain("code")
    await visitor.settled()
  })

  it("can leave again if the service did not confirm the end of the session", async () => {
    await enter(operatorSession, "/console/operator/service")
    await visitor.page.route("**/api/operator/session", (route) => route.fulfill({ status: 503, body: "{}" }), {
      times: 1
    })
    const leave = visitor.page.getByRole("banner").getByRole("button", { name: "Leave" })
    await leave.click()
    await visitor.sees("The service did not confirm the end of the session")
    await leave.click()
    await visitor.at("/console")
    await expect(server.send("GET", "/api/operator/session", operatorToken)).rejects.toThrow("invalid_session")
  })
})

describe.skipIf(isMissing).sequential("a reseller", () => {
  it("keeps the dialog of a key open when a cancelled revocation of another key ends", async () => {
    await enter(resellerSession, customerPath)
    const release = await holdFirst("**/api/reseller/keys/*")
    await visitor.press("Revoke laptop")
    await inDialog("Revoke").click()
    await inDialog("Cancel").click()
    await visitor.press("Revoke phone")
    await release(pass)
    await visitor.sees(/^Revoked/)
    await inDialog("Cancel").click()
    await visitor.press("Revoke phone")
  })

  it("keeps the focus in the page after a confirmed change", async () => {
    await enter(resellerSession, customerPath)
    await visitor.press("Limits phone")
    await inDialog("Save").click()
    const focused = () => visitor.page.evaluate(() => document.activeElement?.textContent)
    await expect.poll(focused).toBe("API keys")
  })

  it("stays on the page that it opened while an order was created", async () => {
    await enter(resellerSession, "/console/topups/new")
    await visitor.fill({ amount: "50000" })
    const release = await holdFirst("**/api/reseller/topup")
    await visitor.submit()
    await visitor.follow("/console/mint")
    await release(pass)
    await visitor.at("/console/mint")
    expect(new URL(visitor.page.url()).pathname).toBe("/console/mint")
  })

  it("sees that older orders could not be loaded", async () => {
    await visitor.page.route("**/api/reseller/topups?*", async (route) => {
      if (!route.request().url().includes("offset=0")) return route.fulfill({ status: 500, body: "{}" })
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), total: 30 } })
    })
    await enter(resellerSession, "/console/topups")
    await visitor.press("Older")
    await visitor.page.getByRole("alert").waitFor()
    await visitor.press("Try again")
  })

  it("sees in an alert what is wrong with an amount", async () => {
    await enter(resellerSession, "/console/topups/new")
    await visitor.fill({ amount: "1.5" })
    await visitor.submit()
    await visitor.page.getByRole("alert").getByText("Enter rupiah without decimals").waitFor()
  })

  it("sees the customer of the link in the mint form, and not the customer of an unfinished mint", async () => {
    await enter(resellerSession, `/console/mint?email=${CUSTOMER}`)
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await visitor.sees("Quota afterwards")
    await visitor.follow("/console/home")
    await visitor.follow(`/console/mint?email=${BUYER}`)
    await expect.poll(() => visitor.page.inputValue('main input[name="email"]')).toBe(BUYER)
  })

  it("mints only at the price that it has seen", async () => {
    await enter(resellerSession, `/console/mint?email=${CUSTOMER}`)
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await visitor.sees("Quota afterwards")
    await visitor.page.route("**/api/reseller/tiers", async (route) => {
      const response = await route.fetch()
      const { tiers } = (await response.json()) as { readonly tiers: ReadonlyArray<object> }
      await route.fulfill({ response, json: { tiers: tiers.map((tier) => ({ ...tier, price_usd_micro: 6_543_210 })) } })
    })
    await visitor.press("Mint now")
    await visitor.sees("This plan has changed")
    await visitor.sees("$6.54321")
    expect(visitor.requests).not.toContain(`${server.url}/api/reseller/mint`)
    await visitor.press("Mint now")
    await visitor.sees(`${CUSTOMER} received`)
    expect(visitor.requests).toContain(`${server.url}/api/reseller/mint`)
  })

  it("sees the language that it selected last", async () => {
    await enter(resellerSession, "/console/account")
    const language = visitor.page.getByRole("contentinfo").getByRole("combobox").first()
    const texts = /\/assets\/id-[^/]*\.js$/
    const release = await holdFirst(texts)
    await language.selectOption("id")
    await language.selectOption("en")
    await release(pass)
    await visitor.sees("Files for your bookkeeping")
    expect(await visitor.page.getAttribute("html", "lang")).toBe("en")
    await visitor.page.route(texts, (route) => route.abort())
    await visitor.page.reload()
    await visitor.settled()
    await language.selectOption("id")
    await visitor.sees("A part of the console could not be loaded.")
    await visitor.page.reload()
    await visitor.page.getByRole("alert").getByText("The console could not be loaded.").waitFor()
    await visitor.page.evaluate(() => localStorage.clear())
  })

  it("stays logged in when a request of its earlier session is refused", async () => {
    await enter(resellerSession, "/console/home")
    const requests = /\/api\/reseller\/usage\?/
    const release = await holdFirst(requests)
    const requested = visitor.page.waitForRequest(requests)
    await visitor.page.getByRole("link", { name: "Usage", exact: true }).click()
    await requested
    await visitor.follow("/console/account")
    await visitor.press("Log out")
    await visitor.at("/console")
    await visitor.follow("/console/login")
    await visitor.logIn(RESELLER, PASSWORD)
    await visitor.at("/console/home")
    const body = JSON.stringify({ error: { code: "invalid_credentials", message: "Refused." } })
    await release((route) => route.fulfill({ status: 401, contentType: "application/json", body }))
    await visitor.follow("/console/topups")
    expect((await visitor.session()).token).toMatch(/^ey/)
  })
})
