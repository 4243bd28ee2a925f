/**
 * Uses the pages of an operator in a real browser. The last tests open them in both languages and both themes.
 */
import { rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { type Body, ConsoleServer } from "../support/console/ConsoleServer.ts"
import { EMAIL, EMOJI, MARKUP, RIGHT_TO_LEFT } from "../support/console/HostileTexts.ts"
import { combinations } from "../support/console/Matrix.ts"
import { Visitor, type VisitorOptions } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of the operator's pages")

vi.setConfig({ testTimeout: 120_000 })

const NAME = `${MARKUP} ${RIGHT_TO_LEFT}`
const NOTE = `${NAME} ${EMOJI}`
const RESELLER = "toko@operator.example"
const CUSTOMER = EMAIL
const OTHER_CUSTOMER = "sari@operator.example"
const PASSWORD = "correct horse battery"

let server: ConsoleServer
let ani: Visitor
let session = ""
let token = ""
let secret = ""
const ids = { reseller: "", customer: "", key: "", order: "" }

const asOperator = (method: string, path: string, body?: object) =>
  server.send(method, `/api/operator${path}`, token, body)

const arrive = async (options: VisitorOptions = {}): Promise<Visitor> => {
  const visitor = await Visitor.arrive(browser, server.url, options)
  await visitor.enter(session, "/console/operator/home")
  return visitor
}

const confirm = (visitor: Visitor, name: string) =>
  visitor.page.getByRole("dialog").getByRole("button", { name, exact: true }).click()

beforeAll(async () => {
  if (isMissing) return
  server = await ConsoleServer.start()
  token = await server.operatorToken("ani")
  session = JSON.stringify({ kind: "operator", token, actor: "ani" })
  const signup = { email: RESELLER, password: PASSWORD, name: NAME, wa_number: "6281234567890" }
  await server.send("POST", "/api/reseller/auth/signup", "", signup)
  await server.send("POST", "/api/reseller/auth/signup", "", {
    ...signup,
    email: "waiting@operator.example",
    name: EMOJI
  })
  ids.reseller = String((await asOperator("POST", `/resellers/${RESELLER}/review`, { move: "approve" })).id)
  const login = await server.send("POST", "/api/reseller/auth/login", "", { email: RESELLER, password: PASSWORD })
  const reseller = String(login.token)
  ids.customer = String((await server.send("POST", "/api/reseller/customers", reseller, { email: CUSTOMER })).user_id)
  const keys = `/api/reseller/customers/${ids.customer}/keys`
  await server.send("POST", keys, reseller, { name: EMOJI })
  const key = await server.send("POST", keys, reseller, { name: NAME })
  ids.key = String(key.key_id)
  secret = String(key.secret)
  const topUp = { method: "qris", amount_idr: 50_000 }
  ids.order = String((await server.send("POST", "/api/reseller/topup", reseller, topUp)).id)
  ani = await arrive()
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

const quota = async () => (await asOperator("GET", `/resellers/${ids.reseller}`)).balance_usd_micro
const payg = async () => (await asOperator("GET", `/customers/${ids.customer}`)).payg

/** Lets the gateway execute the requests to these URLs, and withholds the responses from the page. */
const loseResponse = (urls: string) =>
  ani.page.route(urls, async (route) => {
    await route.fetch()
    await route.abort()
  })

const LONG_MILLIS = 60_000

const reviews = async (state = "waiting"): Promise<ReadonlyArray<Body>> =>
  (await asOperator("GET", `/image-reviews?state=${state}`)).data as ReadonlyArray<Body>

/** Requests an image and disconnects. If the image is ready before the disconnect, the request has no review. */
const abandonImage = async (): Promise<void> => {
  const before = (await reviews()).length
  const leaving = new AbortController()
  let hasEnded = false
  fetch(`${server.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "demo-image", prompt: "A tollgate" }),
    signal: leaving.signal
  }).then(
    () => {
      hasEnded = true
    },
    () => {}
  )
  const isDispatched = async () => {
    const { providers } = await asOperator("GET", "/providers")
    return (providers as ReadonlyArray<{ open_exchanges: number }>).some(({ open_exchanges }) => open_exchanges > 0)
  }
  const timeout = LONG_MILLIS
  await vi.waitUntil(async () => hasEnded || (await isDispatched()), { timeout })
  leaving.abort()
  await vi.waitUntil(async () => hasEnded || (await reviews()).length > before, { timeout })
}

describe.skipIf(isMissing).sequential("an operator", () => {
  it("adjusts a quota once when the button is clicked twice", async () => {
    await ani.follow("/console/operator/resellers")
    await ani.fill({ search: RESELLER.slice(0, 4).toUpperCase() })
    await ani.submit()
    await ani.page.getByRole("link", { name: RESELLER }).click()
    await ani.at(`/console/operator/resellers/${ids.reseller}`)
    await ani.fill({ amount: "12.5", reason: NOTE })
    await ani.submit()
    await ani.sees("Balance afterwards")
    await ani.sees(NOTE)
    await ani.page.getByRole("button", { name: "Book now" }).evaluate((button: HTMLElement) => {
      button.click()
      button.click()
    })
    await ani.sees("Booked")
    expect(await quota()).toBe("12500000")
    await ani.sees("Adjustment")
  })

  it("adjusts a quota once when the response is lost", async () => {
    await ani.press("Another change")
    await ani.page.getByLabel("Change").selectOption("-")
    await ani.fill({ amount: "2.5", reason: "correction" })
    await ani.submit()
    await loseResponse("**/quota")
    await ani.press("Book now")
    await ani.sees("The result is unknown")
    await ani.page.unroute("**/quota")
    await ani.page.reload()
    await ani.sees("The result is unknown")
    await ani.press("Send again")
    await ani.sees("It was not booked again.")
    expect(await quota()).toBe("10000000")
    ani.browserErrors.length = 0
  })

  it("sees that the quota does not cover a deduction", async () => {
    await ani.press("Another change")
    await ani.page.getByLabel("Change").selectOption("-")
    await ani.fill({ amount: "1000", reason: "too much" })
    await ani.submit()
    await ani.press("Book now")
    await ani.sees("The quota is smaller than the amount to deduct.")
    expect(await quota()).toBe("10000000")
    await ani.press("Back")
  })

  it("suspends and reactivates a reseller after a confirmation", async () => {
    await ani.press("Suspend")
    await confirm(ani, "Suspend")
    await ani.sees("Suspended")
    await ani.press("Reactivate")
    await confirm(ani, "Reactivate")
    await ani.sees("Active")
  })

  it("credits a customer after a confirmation", async () => {
    await ani.follow("/console/operator/customers")
    await ani.page.getByRole("link", { name: CUSTOMER }).click()
    await ani.at(`/console/operator/customers/${ids.customer}`)
    await ani.fill({ amount: "3", reason: "goodwill" })
    await ani.submit()
    await ani.press("Book now")
    await ani.sees("Booked")
    expect(await payg()).toMatchObject({ balance_usd_micro: "3000000" })
  })

  it("credits a customer once after a lost response and a refused repeat", async () => {
    await ani.press("Another change")
    const { balance_usd_micro: before } = (await payg()) as Body
    await ani.fill({ amount: "2", reason: "goodwill" })
    await ani.submit()
    await loseResponse("**/credit")
    await ani.press("Book now")
    await ani.sees("The result is unknown")
    await ani.page.unroute("**/credit")
    const json = { error: { code: "rate_limited", message: "Refused.", details: [] } }
    await ani.page.route("**/credit", (route) => route.fulfill({ status: 429, json }))
    await ani.press("Send again")
    await ani.page.getByRole("main").locator(".notice.bad").waitFor()
    await ani.sees("The result is unknown")
    expect(await ani.page.getByRole("button", { name: "Back" }).count()).toBe(0)
    await ani.page.unroute("**/credit")
    await ani.press("Send again")
    await ani.sees("It was not booked again.")
    expect(await payg()).toMatchObject({ balance_usd_micro: String(BigInt(String(before)) + 2_000_000n) })
    ani.browserErrors.length = 0
  })

  it("waives one image review and charges another, each with a reason", async () => {
    while ((await reviews()).length < 2) await abandonImage()
    await ani.follow("/console/operator/images")
    const waive = ani.page.getByRole("main").getByRole("button", { name: "Waive" })
    expect(await waive.count()).toBe(2)
    await waive.first().click()
    await confirm(ani, "Waive")
    await ani.page.getByRole("dialog").getByText("Give a reason.").waitFor()
    await ani.page.getByRole("dialog").getByLabel("Reason").fill(NOTE)
    await confirm(ani, "Waive")
    await expect.poll(() => waive.count(), { timeout: LONG_MILLIS }).toBe(1)
    await ani.fill({ amount: "0" })
    await ani.submit()
    await ani.sees("Enter an amount above 0")
    await ani.fill({ amount: "0.25" })
    await ani.submit()
    await ani.page.getByRole("dialog").getByLabel("Reason").fill("delivered late")
    await confirm(ani, "Charge")
    await ani.sees("No image waits for a decision")
    await ani.page.getByLabel("Show").selectOption("all")
    await ani.sees("Charged $0.25")
    await ani.sees(NOTE)
    expect(await reviews("all")).toMatchObject([
      { resolution: "waived", resolved_by: "ani", resolved_because: NOTE },
      { resolution: "charged", resolved_by: "ani", charged_usd_micro: "250000" }
    ])
  })

  it("links a new customer to a reseller after a confirmation", async () => {
    await ani.follow("/console/operator/customers")
    await ani.fill({ email: OTHER_CUSTOMER })
    await ani.press("Create a customer")
    await ani.at(/\/console\/operator\/customers\/[0-9a-f-]{36}$/)
    await ani.follow(`/console/operator/resellers/${ids.reseller}`)
    await ani.fill({ email: OTHER_CUSTOMER })
    await ani.press("Link a customer")
    await confirm(ani, "Link a customer")
    await ani.sees(`${OTHER_CUSTOMER} is a customer of this reseller.`)
    const { data } = await asOperator("GET", `/customers?search=${OTHER_CUSTOMER}`)
    expect(data).toMatchObject([{ email: OTHER_CUSTOMER, resellers: [RESELLER] }])
  })

  it("sets the limits of a key after a confirmation", async () => {
    await ani.follow(`/console/operator/customers/${ids.customer}`)
    await ani.page.getByRole("main").getByRole("link", { name: MARKUP }).click()
    await ani.at(`/console/operator/keys/${ids.key}`)
    await ani.fill({ spend_usd_micro_per_day: "many" })
    await ani.submit()
    await ani.sees("Enter an amount from 0 to 1,000,000 dollars")
    await ani.fill({ spend_usd_micro_per_day: "1.5", requests_per_minute: "60" })
    await ani.page.check('main input[name="models.demo-chat"]')
    await ani.submit()
    await confirm(ani, "Set the limits")
    await ani.sees("The limits are set.")
    const limits = { spend_usd_micro_per_day: 1_500_000, requests_per_minute: 60, models: ["demo-chat"] }
    expect(await asOperator("GET", `/keys/${ids.key}`)).toMatchObject({ limits })
    expect(await ani.page.inputValue('input[name="spend_usd_micro_per_day"]')).toBe("1.5")
  })

  it("revokes a key after a confirmation", async () => {
    await ani.press("Revoke")
    await confirm(ani, "Revoke")
    await ani.sees("Revoked")
    expect((await asOperator("GET", `/keys/${ids.key}`)).revoked_at).not.toBeNull()
  })

  it("cannot save a model for a key if the model was hidden after the page was opened", async () => {
    const name = "soon-hidden"
    const apply = async (hidden: boolean) => {
      const { version: _, ...catalog } = await asOperator("GET", "/catalog")
      const models = catalog.models as ReadonlyArray<Body>
      const [{ model_id: __, ...demo } = {}] = models
      const added = models.find(({ public_name }) => public_name === name) ?? { ...demo, public_name: name, tiers: [] }
      const others = models.filter(({ public_name }) => public_name !== name)
      await asOperator("POST", "/catalog/apply", { catalog: { ...catalog, models: [...others, { ...added, hidden }] } })
    }
    const { data } = await asOperator("GET", `/customers/${ids.customer}/keys`)
    const key = (data as ReadonlyArray<Body>).find(({ revoked_at }) => revoked_at === null)
    const box = ani.page.locator(`main input[name="models.${name}"]`)
    await apply(false)
    await ani.follow(`/console/operator/keys/${key?.key_id}`)
    await box.check()
    await apply(true)
    await ani.submit()
    await confirm(ani, "Set the limits")
    await ani.sees("One of these models is not offered. Remove it.")
    expect(await ani.page.getByRole("dialog").count()).toBe(0)
    expect(await box.isChecked()).toBe(true)
    await ani.page.reload()
    await ani.page.locator('main input[name="models.demo-chat"]').waitFor()
    expect(await box.count()).toBe(0)
  })

  it("refreshes an order", async () => {
    await ani.follow("/console/operator/topups")
    await ani.page.getByRole("main").getByRole("link", { name: RESELLER }).click()
    await ani.at(`/console/operator/topups/${ids.order}`)
    await server.payer("pay", `RTO-${ids.order}`)
    await ani.submit()
    await ani.sees("The payment was read.")
    await ani.sees("Credited")
  })

  it("requests the refresh of all open orders", async () => {
    await ani.follow("/console/operator/topups")
    await ani.page.getByRole("button", { name: "Refresh all open orders" }).click()
    await ani.sees("Orders read: 0 of 0.")
  })

  it("sees what a catalog file changes before it is applied", async () => {
    const { version, ...catalog } = (await asOperator("GET", "/catalog")) as {
      version: number
      models: ReadonlyArray<Body>
    }
    const [first, ...others] = catalog.models
    const changed = { ...catalog, models: [{ ...first, display_name: MARKUP }, ...others] }
    const file = join(tmpdir(), `tollgate-catalog-${process.pid}.json`)
    const chooseFile = async (path: string) => {
      const [chooser] = await Promise.all([
        ani.page.waitForEvent("filechooser"),
        ani.page.getByLabel("Catalog file (JSON)").click()
      ])
      await chooser.setFiles(path)
      await ani.submit()
    }
    await ani.follow("/console/operator/catalog")
    await writeFile(file, "no JSON")
    await chooseFile(file)
    await ani.sees("The file is not JSON.")
    await writeFile(file, JSON.stringify({ providers: [], models: [{}] }))
    await chooseFile(file)
    await ani.sees("The catalog file has errors. Nothing was changed.")
    await writeFile(file, '{"providers": [],\n "providers": [], "models": []}')
    await chooseFile(file)
    await ani.sees('line 2, column 2 of the body: the member "providers" occurs twice in this object')
    await writeFile(file, JSON.stringify(changed))
    await chooseFile(file)
    await ani.sees(MARKUP)
    expect((await asOperator("GET", "/catalog")).version).toBe(version)
    await ani.press("Apply")
    await confirm(ani, "Apply")
    await ani.sees(`The catalog is applied. It has version ${version + 1}.`)
    await rm(file)
  })

  it("sees the reason of a blacklist change in the audit log", async () => {
    await ani.follow("/console/operator/blacklist")
    await ani.fill({ pattern: "@spam.example" })
    await ani.submit()
    await ani.press("Remove @spam.example")
    await ani.page.getByRole("dialog").getByLabel("Reason").fill(NOTE)
    await confirm(ani, "Remove")
    await ani.sees("The blacklist is empty")
    await ani.follow("/console/operator/audit-log")
    await ani.sees(NOTE)
    await ani.sees("blacklist.remove")
  })

  it("runs the audit and the checks", async () => {
    await ani.follow("/console/operator/checks")
    await ani.press("Run the audit")
    await ani.sees("No violation found")
    await ani.press("Run the checks")
    await ani.sees("No check failed")
  })

  it("ends the session of another operator after a confirmation", async () => {
    await server.operator("console", "--name", "budi")
    await ani.follow("/console/operator/sessions")
    await ani.press("End budi")
    await confirm(ani, "End")
    await ani.sees("Ended")
    expect(await server.operator("console", "list")).toMatch(/budi +ended/)
  })

  it("starts a sweep after a confirmation", async () => {
    await ani.follow("/console/operator/holds")
    await ani.press("Settle the requests of dead nodes")
    await confirm(ani, "Settle the requests of dead nodes")
    await ani.sees("Settled: 0.")
    expect(await ani.page.evaluate(() => document.activeElement?.textContent)).toBe("Settle the requests of dead nodes")
    expect(ani.requests).toContain(`${server.url}/api/operator/holds/sweep`)
  })

  it("sees markup in names and reasons as plain text that the page does not execute", async () => {
    const shown: ReadonlyArray<readonly [page: string, ...texts: ReadonlyArray<string>]> = [
      ["home", EMOJI],
      ["resellers", NAME, EMOJI],
      [`resellers/${ids.reseller}`, NAME, CUSTOMER, EMOJI],
      ["customers", CUSTOMER],
      [`customers/${ids.customer}`, CUSTOMER, NAME, EMOJI],
      [`keys/${ids.key}`, NAME],
      ["audit-log", NOTE]
    ]
    for (const [page, ...texts] of shown) {
      await ani.follow(`/console/operator/${page}`)
      for (const text of texts) await ani.sees(text)
      expect(await ani.page.locator("img").count()).toBe(0)
    }
    expect(await ani.page.title()).not.toContain("taken over")
    expect(ani.requests.filter((url) => url.includes(token) || url.includes("stolen"))).toEqual([])
    expect(ani.foreignRequests).toEqual([])
    expect(ani.browserErrors).toEqual([])
  })
})

describe.skipIf(isMissing)("the pages of an operator", () => {
  it.each(combinations(2))("are accessible: $language, $theme, $device", async (options) => {
    const visitor = await arrive(options)
    const found: Array<string> = []
    const pages = ["home", "resellers", "blacklist", "customers", "topups", "images", "service", "catalog", "nodes"]
    const more = ["holds", "checks", "audit-log", "sessions"]
    const items = [
      `resellers/${ids.reseller}`,
      `customers/${ids.customer}`,
      `keys/${ids.key}`,
      `topups/${ids.order}`,
      "resellers/nothing"
    ]
    for (const page of [...pages, ...more, ...items]) {
      await visitor.follow(`/console/operator/${page}`)
      await visitor.settled()
      found.push(...(await visitor.faults()).map((fault) => `${page}: ${fault}`))
    }
    expect(found).toEqual([])
    expect(visitor.browserErrors).toEqual([])
    await visitor.leave()
  })
})
