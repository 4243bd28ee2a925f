/**
 * Uses the console while responses are late, fail, or belong to an action that the user has left.
 */
import { rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Route } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
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
let operatorSession = ""
let resellerSession = ""
let resellerToken = ""
let customerPath = ""

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
  operatorSession = operator.session
  await signUp(RESELLER, "Toko")
  await send(operator.token, `/api/operator/resellers/${RESELLER}/review`, { move: "approve" })
  const login = await send("", "/api/reseller/auth/login", { email: RESELLER, password: PASSWORD })
  resellerToken = String(login.token)
  resellerSession = JSON.stringify({ kind: "reseller", token: resellerToken, reseller: login.reseller })
  const { user_id } = await send(resellerToken, "/api/reseller/customers", { email: CUSTOMER })
  for (const name of ["laptop", "phone"]) await send(resellerToken, `/api/reseller/customers/${user_id}/keys`, { name })
  customerPath = `/console/customers/${user_id}`
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

beforeEach(async () => {
  if (!isMissing) visitor = await Visitor.arrive(browser, server.url)
})

afterEach(async () => {
  if (!isMissing) await visitor.leave()
})

const enter = async (session: string, path: string): Promise<void> => {
  await visitor.open("/console")
  await visitor.page.evaluate((text) => sessionStorage.setItem("tollgate.session", text), session)
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

const inDialog = (name: string) => visitor.page.getByRole("dialog").getByRole("button", { name, exact: true })

describe.skipIf(isMissing).sequential("an operator", () => {
  it("decides about a reseller while a cancelled decision is still sent", async () => {
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
    const { token } = JSON.parse(operatorSession) as { readonly token: string }
    const { version: _, ...catalog } = await server.send("GET", "/api/operator/catalog", token)
    const [first, ...others] = catalog.models as ReadonlyArray<object>
    const file = join(tmpdir(), `tollgate-catalogs-${process.pid}.json`)
    const choose = async (name: string) => {
      await writeFile(file, JSON.stringify({ ...catalog, models: [{ ...first, display_name: name }, ...others] }))
      const chooser = visitor.page.waitForEvent("filechooser")
      await visitor.page.getByLabel("Catalog file (JSON)").click()
      await (await chooser).setFiles(file)
      await visitor.submit()
    }
    await enter(operatorSession, "/console/operator/catalog")
    const release = await holdFirst("**/catalog/preview")
    await choose("Older file")
    await choose("Newer file")
    await visitor.sees("Newer file")
    await release(pass)
    await visitor.sees("Newer file")
    expect(await visitor.page.getByText("Older file").count()).toBe(0)
    await rm(file)
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

  it("hears what is wrong with an amount", async () => {
    await enter(resellerSession, "/console/topups/new")
    await visitor.fill({ amount: "1.5" })
    await visitor.submit()
    await visitor.page.getByRole("alert").getByText("Enter rupiah without decimals").waitFor()
  })

  it("mints to the customer of the link and not to the customer of an earlier mint", async () => {
    await enter(resellerSession, `/console/mint?email=${CUSTOMER}`)
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await visitor.sees("Quota afterwards")
    await visitor.follow("/console/home")
    await visitor.follow(`/console/mint?email=${BUYER}`)
    await expect.poll(() => visitor.page.inputValue('main input[name="email"]')).toBe(BUYER)
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
