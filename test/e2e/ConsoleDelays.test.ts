/**
 * Uses the console while responses are late, fail, or belong to an action that the user has left.
 */
import type { Route } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { Visitor } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of late responses")

vi.setConfig({ testTimeout: 120_000 })

const PASSWORD = "correct horse battery"
const RESELLER = "toko@delays.example"
const CUSTOMER = "sari@delays.example"
const BUYER = "budi@delays.example"
/** Chromium changes the domain of this email in a field of the type `email`. */
const ACCENTED = "budi@tokó.example"

let server: ConsoleServer
let visitor: Visitor
let operatorToken = ""
let operatorSession = ""
let resellerSession = ""
let resellerToken = ""
let resellerId = ""
let customerPath = ""
let keyId = ""
let secret = ""
let emptySession = ""

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
  for (const name of ["laptop", "phone"]) {
    const key = await send(resellerToken, keys, { name })
    keyId = String(key.key_id)
    secret = String(key.secret)
  }
  emptySession = JSON.stringify({ kind: "reseller", token: "refused", reseller: login.reseller })
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

/** Opens a page without a session. */
const enterWithout = async (path: string): Promise<void> => {
  if (!visitor.page.url().startsWith(server.url)) await visitor.open("/console")
  await visitor.page.evaluate(() => sessionStorage.clear())
  await visitor.open(path)
}

/** Returns the label or the text of the element that has the focus. */
const focused = (): Promise<string | null | undefined> =>
  visitor.page.evaluate(() => {
    const element = document.activeElement
    return element?.getAttribute("aria-label") ?? element?.getAttribute("name") ?? element?.textContent
  })

/** Lets the gateway execute the first request to these URLs, and withholds the response from the page. */
const loseFirst = (urls: string) =>
  visitor.page.route(
    urls,
    async (route) => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 }
  )

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

  it("does not undo a change of limits that was made after its page was loaded", async () => {
    const limits = async () => (await server.send("GET", `/api/operator/keys/${keyId}`, operatorToken)).limits
    await enter(operatorSession, `/console/operator/keys/${keyId}`)
    await visitor.fill({ requests_per_minute: "60" })
    await server.send("PATCH", `/api/reseller/keys/${keyId}`, resellerToken, { limits: { tokens_per_minute: 1_000 } })
    await visitor.submit()
    await inDialog("Set the limits").click()
    await visitor.sees("The stored limits have changed since the page was loaded")
    expect(await limits()).toMatchObject({ tokens_per_minute: 1_000, requests_per_minute: null })
    await expect.poll(() => visitor.page.inputValue('main input[name="tokens_per_minute"]')).toBe("1000")
    await visitor.page.route(`**/api/operator/keys/${keyId}`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      await route.continue()
    })
    await visitor.fill({ requests_per_minute: "60" })
    await visitor.submit()
    await inDialog("Set the limits").click()
    // The page shows this message only after it has read the new limits, so later input stays in the fields.
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
      visitor.page.evaluate((key) => sessionStorage.getItem(key), `tollgate.booking ani quota ${resellerId}`)
    const prepare = async (amount: string) => {
      await visitor.fill({ amount, reason: "agreed" })
      await visitor.press("Continue")
      await visitor.sees("Balance afterwards")
    }
    await prepare("50")
    await expect.poll(focused).toBe("Confirm the change")
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

  it("opens the second of two links while the code of the first is being redeemed", async () => {
    await enterWithout("/console/operator")
    const release = await holdFirst("**/api/operator/session")
    const openLink = (code: string) =>
      visitor.page.evaluate((hash) => {
        location.hash = hash
      }, `#code=${code}`)
    await openLink("first")
    const second = visitor.page.waitForRequest((request) => request.postData()?.includes("second") === true)
    await openLink("second")
    await second
    await visitor.sees("This link is not valid.")
    const json = { token: "late", session: { actor: "ani" } }
    await release((route) => route.fulfill({ json }))
    expect(await visitor.page.evaluate(() => sessionStorage.length)).toBe(0)
  })

  it("sees the last known state of an order after a refresh that failed", async () => {
    const { id, order_number } = await send(resellerToken, "/api/reseller/topup", {
      method: "qris",
      amount_idr: 20_000
    })
    await enter(operatorSession, `/console/operator/topups/${id}`)
    await server.payer("pay", String(order_number))
    await visitor.submit()
    await visitor.sees("The payment was read.")
    await visitor.page.route("**/refresh", (route) => route.fulfill({ status: 503, body: "{}" }))
    await visitor.submit()
    await visitor.page.getByRole("alert").waitFor()
    await visitor.sees("Credited")
    expect(await visitor.page.getByText("The payment was read.").count()).toBe(0)
  })

  it("can repeat the end of its session if the service did not confirm the end", async () => {
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

  it("creates one order when it sends the request again after the response has arrived", async () => {
    const orders = async () => (await server.send("GET", "/api/reseller/topups", resellerToken)).total
    const before = Number(await orders())
    await enter(resellerSession, "/console/topups/new")
    await visitor.fill({ amount: "70000" })
    const release = await holdFirst("**/api/reseller/topup")
    await visitor.submit()
    await visitor.follow("/console/home")
    await visitor.follow("/console/topups/new")
    await visitor.sees("The result is unknown")
    await release(pass)
    await visitor.press("Send again")
    await visitor.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    expect(await orders()).toBe(before + 1)
  })

  it("sees that the QR code of an order could not be loaded", async () => {
    await enter(resellerSession, "/console/topups")
    // A page of an earlier test can have loaded the program for QR codes. A new document has not.
    await visitor.page.reload()
    await visitor.settled()
    await visitor.page.route(/\/assets\/[^/]*\.js$/, (route) => route.abort())
    await visitor.page.getByRole("main").locator("ul.rows a").first().click()
    await visitor.sees("A part of the console could not be loaded.")
    expect(await visitor.page.locator("svg.qr").count()).toBe(0)
    await visitor.page.unrouteAll()
    await visitor.page.getByRole("button", { name: "Reload the page" }).click()
    await visitor.page.locator("svg.qr path").waitFor()
  })

  it("sees the deadline of an order by the clock of the gateway", async () => {
    await visitor.page.route("**/api/reseller/topup/*", async (route) => {
      const response = await route.fetch()
      const date = new Date(Date.now() + 7 * 24 * 3_600_000).toUTCString()
      await route.fulfill({ response, headers: { ...response.headers(), date } })
    })
    await visitor.page.reload()
    await visitor.sees("The time to pay is over.")
  })

  it("sees in its language that a response was cut off", async () => {
    await visitor.page.route("**/api/reseller/balance", (route) =>
      route.fulfill({ status: 200, contentType: "application/json", body: '{"balance_usd_' })
    )
    await enter(resellerSession, "/console/home")
    await visitor.sees("The service did not respond.")
  })

  it("sees in the list of keys whether a key was created although the response was lost", async () => {
    await enter(resellerSession, customerPath)
    await loseFirst("**/keys")
    await visitor.fill({ name: "tablet" })
    await visitor.submit()
    await visitor.sees("If a new key is in the list, revoke it")
    await visitor.page.locator("main li.row", { hasText: "tablet" }).waitFor()
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

  it("mints to the customer of the link, and not to a customer with another form of the email", async () => {
    const { user_id } = await send(resellerToken, "/api/reseller/customers", { email: ACCENTED })
    await enter(resellerSession, `/console/customers/${user_id}`)
    await visitor.page.getByRole("link", { name: "Mint a plan" }).click()
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await visitor.sees("Quota afterwards")
    await visitor.page.locator("main dd", { hasText: ACCENTED }).waitFor()
    await visitor.press("Back")
    await visitor.fill({ email: ACCENTED.normalize("NFD") })
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await visitor.page.locator("main dd", { hasText: ACCENTED }).waitFor()
    const { customers } = await server.send("GET", "/api/reseller/customers", resellerToken)
    expect((customers as ReadonlyArray<{ email: string }>).filter(({ email }) => email.includes("xn--"))).toEqual([])
    await visitor.press("Back")
  })

  it("has the focus in each step of a mint", async () => {
    await enter(resellerSession, `/console/mint?email=${CUSTOMER}`)
    await visitor.page.locator("label.tier").first().click()
    await visitor.submit()
    await expect.poll(focused).toBe("Confirm the mint")
    await visitor.press("Back")
    await expect.poll(focused).toBe("email")
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
    await expect.poll(focused).toBe("Minted")
  })

  it("sees the filter that the query of the address sets", async () => {
    await enter(resellerSession, customerPath)
    await visitor.follow(`/console/usage?customer=${customerPath.split("/").at(-1)}`)
    const customer = visitor.page.getByRole("main").getByLabel("Customer")
    await expect.poll(() => customer.inputValue()).not.toBe("")
    await visitor.page.getByRole("navigation").getByRole("link", { name: "Usage" }).click()
    await expect.poll(() => customer.inputValue()).toBe("")
    await visitor.page.goBack()
    await expect.poll(() => customer.inputValue()).not.toBe("")
  })

  it("returns to the address with its query after a login", async () => {
    await enterWithout("/console")
    await visitor.page.evaluate((text) => sessionStorage.setItem("tollgate.session", text), emptySession)
    await visitor.open(`/console/mint?email=${CUSTOMER}`)
    await visitor.at("/console/login")
    await visitor.sees("Your session has ended")
    await visitor.follow("/console/key")
    expect(await visitor.page.getByText("Your session has ended").count()).toBe(0)
    await visitor.follow("/console/login")
    await visitor.logIn(RESELLER, PASSWORD)
    await visitor.at("/console/mint")
    await expect.poll(() => visitor.page.inputValue('main input[name="email"]')).toBe(CUSTOMER)
  })

  it("stays logged out when the response to a change of its password arrives", async () => {
    await enter(resellerSession, "/console/account")
    const release = await holdFirst("**/api/reseller/auth/password")
    await visitor.fill({ password: PASSWORD, newPassword: "another password" })
    await visitor.submit()
    await visitor.press("Log out")
    await visitor.at("/console")
    const { reseller } = JSON.parse(resellerSession) as { readonly reseller: object }
    await release((route) => route.fulfill({ json: { token: "late", reseller } }))
    expect(await visitor.page.evaluate(() => sessionStorage.length)).toBe(0)
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

describe.skipIf(isMissing).sequential("a visitor", () => {
  it("keeps the session that it opened while a login was running", async () => {
    await enterWithout("/console/login")
    const release = await holdFirst("**/auth/login")
    await visitor.logIn(RESELLER, PASSWORD)
    await visitor.follow("/console/key")
    await visitor.fill({ key: secret })
    await visitor.submit()
    await visitor.at("/console/balance")
    await release(pass)
    expect(await visitor.session()).toEqual({ kind: "customer", key: secret })
  })

  it("stays on the page that it opened while a signup was running", async () => {
    await enterWithout("/console/signup")
    const release = await holdFirst("**/auth/signup")
    await visitor.fill({ name: "Toko", email: "new@delays.example", number: "0812-3456-7890", password: PASSWORD })
    await visitor.submit()
    await visitor.follow("/console/key")
    await release(pass)
    expect(new URL(visitor.page.url()).pathname).toBe("/console/key")
  })

  it("sees that a pasted password is too long, because the browser does not cut it off", async () => {
    await enterWithout("/console/signup")
    await visitor.fill({ name: "Toko", email: "long@delays.example", number: "0812-3456-7890" })
    await visitor.page.focus('main input[name="password"]')
    await visitor.page.keyboard.insertText("p".repeat(129))
    await visitor.submit()
    await visitor.page.getByRole("alert").getByText("8 to 128 characters.").waitFor()
  })

  it("sees a message if the browser allows the site to store no data", async () => {
    const other = await Visitor.arrive(browser, server.url)
    await other.page.addInitScript(() => {
      Object.defineProperty(window, "localStorage", {
        get: () => {
          throw new DOMException("Access is denied.", "SecurityError")
        }
      })
    })
    await other.page.goto(`${server.url}/console`)
    await other.page.getByRole("alert").getByText("allow this site to store data").waitFor()
    await other.leave()
  })
})
