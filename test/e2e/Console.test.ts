/**
 * Uses the console in a real browser, from the signup of a reseller to the usage of its customer.
 *
 * `npm test` runs these tests once: in Indonesian, in the light theme, on a telephone. `npm run console:matrix` runs
 * them in both languages, in both themes, on a telephone and on a desktop.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { countMembers, spendMembers } from "../../apps/console/src/api/KeyLimits.ts"
import { typedDollars } from "../../apps/console/src/format/Amounts.ts"
import { formatOf } from "../../apps/console/src/format/Format.ts"
import { texts as english } from "../../apps/console/src/i18n/en.ts"
import { texts as indonesian } from "../../apps/console/src/i18n/id.ts"
import { operatorTables } from "../../apps/console/src/i18n/OperatorTexts.ts"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { combinations } from "../support/console/Matrix.ts"
import { Visitor } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const { browser, isMissing } = await HeadlessBrowser.openFor("the tests of the console")

vi.setConfig({ testTimeout: 60_000 })

const RESELLER = "owner@toko.example"
const PASSWORD = "correct horse battery"
const NEW_PASSWORD = "another password"
const CUSTOMER = "budi@pelanggan.example"

afterAll(async () => {
  if (!isMissing) await browser.close()
})

describe.skipIf(isMissing).sequential.each(combinations(1))("the console: $language, $theme, $device", (options) => {
  const { language } = options
  const t = language === "id" ? indonesian : english
  const o = operatorTables[language]
  const format = formatOf(language)

  let server: ConsoleServer
  let reseller: Visitor
  let secret = ""

  beforeAll(async () => {
    server = await ConsoleServer.start()
    reseller = await Visitor.arrive(browser, server.url, options)
  }, 240_000)

  afterAll(() => server.close())

  /**
   * Reads a list of the reseller with the page's token, because each login counts toward the limit of login attempts.
   */
  const listed = (path: string, member = "data"): Promise<ReadonlyArray<unknown>> =>
    reseller.page.evaluate(
      async ([url, name]) => {
        const { token } = JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}")
        const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
        return ((await response.json()) as Record<string, ReadonlyArray<unknown>>)[name] ?? []
      },
      [path, member] as const
    )

  const orderNumber = async (): Promise<string> => {
    const shown = await reseller.page.locator("main dd", { hasText: /^RTO-/ }).textContent()
    return shown ?? ""
  }

  const order = async (method: string, amount: string): Promise<string> => {
    await reseller.follow("/console/topups/new")
    await reseller.page.check(`input[value="${method}"]`)
    await reseller.fill({ amount })
    await reseller.submit()
    await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    await reseller.sees(t.topUps.waiting)
    return orderNumber()
  }

  const chooseMint = async (): Promise<void> => {
    await reseller.fill({ email: CUSTOMER })
    await reseller.page.locator("label.tier", { hasText: format.usd(5_000_000) }).click()
    await reseller.submit()
  }

  const clickTwice = (name: string): Promise<void> =>
    reseller.page
      .getByRole("main")
      .getByRole("button", { name })
      .evaluate((element: HTMLElement) => {
        element.click()
        element.click()
      })

  /** Loses the responses to requests with this path. The gateway still executes the requests. */
  const loseResponses = async (path: string): Promise<() => Promise<void>> => {
    await reseller.page.route(path, async (route) => {
      await route.fetch()
      await route.abort()
    })
    return async () => {
      await reseller.page.unroute(path)
      const isExpected = (error: string) => error.includes("net::ERR_FAILED")
      reseller.browserErrors.splice(
        0,
        Number.POSITIVE_INFINITY,
        ...reseller.browserErrors.filter((each) => !isExpected(each))
      )
    }
  }

  describe.sequential("a reseller", () => {
    it("is logged in when an operator has approved the signup", async () => {
      await reseller.open("/console")
      await reseller.page.getByRole("link", { name: t.start.signUp, exact: true }).click()
      await reseller.fill({ name: "Toko Token", email: RESELLER, number: "0812-3456-7890", password: "short" })
      await reseller.submit()
      await reseller.fill({ password: PASSWORD })
      await reseller.submit()
      await reseller.at("/console/waiting")
      await reseller.press(t.access.askAgain)
      await reseller.sees(t.access.stillWaiting)
      await server.operator("resellers", "approve", RESELLER, "--reason", "test")
      await reseller.press(t.access.askAgain)
      await reseller.at("/console/home")
      await reseller.sees(format.usd(0))
      await reseller.sees(t.home.noCustomers)
    })

    it.each([
      ["qris", format.count(100_000), 105_000],
      ["hosted_qris", format.idr(50_000), 50_000],
      ["crypto", "20", "20"],
      ["crypto_bep20", typedDollars(25_000_123, language), "25.000123"]
    ] as const)("sees the payment of a top-up by %s arrive", async (method, amount, toPay) => {
      const number = await order(method, amount)
      await reseller.sees(typeof toPay === "number" ? format.idr(toPay) : toPay)
      await reseller.page.locator("svg.qr path").waitFor()
      await server.payer("pay", number)
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.states.credited)
      expect(await reseller.faults()).toEqual([])
    })

    it("sees that an order is underpaid or expired", async () => {
      const underpaid = await order("crypto_bep20", "10")
      await server.payer("underpay", underpaid)
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.states.underpaid)
      expect(await reseller.faults()).toEqual([])
      await server.sql(`SET session_replication_role = replica;
        UPDATE topup_order SET expires_at = expires_at - interval '1 day' WHERE id = '${underpaid.slice(4)}'`)
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.underpaidLate("5 USDT", "5 USDT"))
      expect(await reseller.page.locator("svg.qr").count()).toBe(0)
      expect(await reseller.faults()).toEqual([])

      await server.payer("expire", await order("qris", "20000"))
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.states.expired)
      expect(await reseller.page.locator("svg.qr").count()).toBe(0)
      expect(await reseller.faults()).toEqual([])
    })

    it("sees that a late payment is credited", async () => {
      const number = await order("qris", "10000")
      await server.payer("expire", number)
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.states.expired)
      await server.sql(`SET session_replication_role = replica;
        UPDATE topup_order SET expires_at = expires_at - interval '1 day' WHERE id = '${number.slice(4)}'`)
      await server.payer("pay", number)
      await reseller.returnsToTab()
      await reseller.sees(t.topUps.late(format.usd(1_000_000)))
      expect(await reseller.faults()).toEqual([])
    })

    it("sees the allowed range of an amount", async () => {
      await reseller.follow("/console/topups/new")
      await reseller.fill({ amount: language === "id" ? "50000,50" : "50000.50" })
      await reseller.submit()
      await reseller.sees(t.topUps.amountIssues.rupiah)
      await reseller.fill({ amount: "1" })
      await reseller.submit()
      await reseller.sees(t.topUps.amountRange(format.idr(10_000), format.idr(9_500_000)))
      expect(await reseller.faults()).toEqual([])
    })

    it("sees how long to wait when it has too many unpaid orders", async () => {
      const refused = {
        status: 429,
        headers: { "content-type": "application/json", "retry-after": "661" },
        body: JSON.stringify({ error: { code: "rate_limited", message: "You have 50 unpaid orders.", details: [] } })
      }
      await reseller.page.route("**/api/reseller/topup", (route) => route.fulfill(refused))
      await reseller.follow("/console/topups/new")
      await reseller.fill({ amount: "30000" })
      await reseller.submit()
      await reseller.sees(t.topUps.tooManyUnpaid(12))
      await reseller.page.unroute("**/api/reseller/topup")
    })

    it("sees how the console reads a typed dollar amount", async () => {
      await reseller.follow("/console/topups/new")
      await reseller.page.check('input[value="crypto"]')
      await reseller.fill({ amount: "1.000" })
      await reseller.sees(format.usd(language === "id" ? 1_000_000_000 : 1_000_000))
    })

    it("creates one order when the button is clicked twice", async () => {
      const before = (await listed("/api/reseller/topups?limit=100", "topups")).length
      await reseller.follow("/console/topups/new")
      await reseller.fill({ amount: "30000" })
      await clickTwice(t.topUps.submit)
      await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
      expect(await listed("/api/reseller/topups?limit=100", "topups")).toHaveLength(before + 1)
    })

    it("creates one order when the response is lost", async () => {
      const before = (await listed("/api/reseller/topups?limit=100", "topups")).length
      await reseller.follow("/console/topups/new")
      const restore = await loseResponses("**/api/reseller/topup")
      await reseller.fill({ amount: "40000" })
      await reseller.submit()
      await reseller.sees(t.topUps.unknown)
      expect(await reseller.faults()).toEqual([])
      await restore()
      await reseller.page.reload()
      await reseller.sees(t.topUps.unknown)
      await reseller.press(t.topUps.sendAgain)
      await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
      await reseller.sees(format.idr(42_000))
      expect(await listed("/api/reseller/topups?limit=100", "topups")).toHaveLength(before + 1)
    })

    it("mints once when the button is clicked twice", async () => {
      await reseller.follow("/console/mint")
      await chooseMint()
      await reseller.sees(format.usd(61_000_123))
      await reseller.sees(format.usd(56_000_123))
      await clickTwice(t.mint.mintNow)
      await reseller.sees(t.mint.doneText(format.count(5_000_000), CUSTOMER))
      expect(await listed("/api/reseller/mints")).toHaveLength(1)
      expect(await reseller.faults()).toEqual([])
    })

    it("mints once when the response is lost", async () => {
      await reseller.press(t.mint.another)
      await chooseMint()
      const restore = await loseResponses("**/api/reseller/mint")
      await reseller.press(t.mint.mintNow)
      await reseller.sees(t.mint.unknown)
      expect(await reseller.faults()).toEqual([])
      await restore()
      await reseller.page.reload()
      await reseller.sees(t.mint.unknown)
      await reseller.press(t.mint.sendAgain)
      await reseller.sees(format.usd(51_000_123))
      expect(await listed("/api/reseller/mints")).toHaveLength(2)
    })

    it("sees the secret of a new API key once", async () => {
      await reseller.page.getByRole("link", { name: t.mint.toCustomer }).click()
      for (const name of ["laptop", "server"]) {
        await reseller.fill({ name })
        await reseller.submit()
        await reseller.sees(t.keys.created)
        expect(await reseller.faults()).toEqual([])
        const shown = await reseller.page.locator(".copy code").first().textContent()
        if (name === "laptop") secret = shown ?? ""
        await reseller.press(t.keys.stored)
      }
      expect(secret).toMatch(/^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/)
      expect(await reseller.page.content()).not.toContain(secret)
    })

    it("revokes a key after a confirmation", async () => {
      await reseller.press(`${t.keys.revoke} server`)
      expect(await reseller.faults()).toEqual([])
      await reseller.page.getByRole("dialog").getByRole("button", { name: t.common.cancel }).click()
      await reseller.press(`${t.keys.revoke} server`)
      await reseller.page.getByRole("dialog").getByRole("button", { name: t.keys.revoke }).click()
      await reseller.sees(new RegExp(`^${t.keys.revoked}$`))
      expect(await reseller.page.getByText(t.keys.revoked, { exact: true }).count()).toBe(1)
    })

    it("sees how the console reads each typed limit of a key", async () => {
      const { words } = t.limits
      await reseller.page.locator("main summary", { hasText: t.limits.optional }).click()
      for (const member of spendMembers) {
        await reseller.fill({ [member]: "1.000" })
        await reseller.sees(words[member](format.usd(language === "id" ? 1_000_000_000 : 1_000_000)))
        await reseller.fill({ [member]: "" })
      }
      for (const member of countMembers) {
        await reseller.fill({ [member]: "1000" })
        await reseller.sees(words[member](format.count(1_000)))
        await reseller.fill({ [member]: "" })
      }
      expect(await reseller.page.locator("main details p.hint", { hasText: /\d/ }).count()).toBe(0)
    })

    it("sets, changes and removes the limits of a key", async () => {
      await reseller.fill({
        name: "limited",
        spend_usd_micro_per_day: typedDollars(2_500_000, language),
        requests_per_minute: "many"
      })
      await reseller.submit()
      await reseller.sees(t.limits.issues.requests_per_minute)
      expect(await reseller.faults()).toEqual([])
      await reseller.fill({ requests_per_minute: "60", expires_at: "2031-02-03T04:05" })
      await reseller.page.check('main input[name="models.demo-chat"]')
      await reseller.submit()
      await reseller.sees(t.keys.created)
      await reseller.press(t.keys.stored)
      const row = reseller.page.locator("main li.row", { hasText: "limited" })
      const { words } = t.limits
      await row.getByText(words.spend_usd_micro_per_day(format.usd(2_500_000))).waitFor()
      await row.getByText(words.requests_per_minute("60")).waitFor()
      await row.getByText(words.expires_at(format.time("2031-02-02T21:05:00.000Z"))).waitFor()
      await row.getByText(words.models("demo-chat")).waitFor()

      await reseller.press(`${t.limits.title} limited`)
      const dialog = reseller.page.getByRole("dialog")
      expect(await dialog.locator("input[name=spend_usd_micro_per_day]").inputValue()).toBe(
        typedDollars(2_500_000, language)
      )
      expect(await reseller.faults()).toEqual([])
      await dialog.locator("input[name=spend_usd_micro_per_day]").fill("2000000")
      await dialog.locator("input[name=expires_at]").fill("")
      await dialog.getByRole("button", { name: t.limits.save }).click()
      await dialog.getByText(t.limits.issues.spend_usd_micro_per_day).waitFor()
      await dialog.locator("input[name=spend_usd_micro_per_day]").fill("")
      await dialog.locator("input[name=tokens_per_minute]").fill(format.count(1_000_000))
      await dialog.getByRole("button", { name: t.limits.save }).click()
      await row.getByText(words.tokens_per_minute(format.count(1_000_000))).waitFor()
      expect(await listed("/api/reseller/keys")).toMatchObject([
        {
          name: "limited",
          limits: {
            spend_usd_micro_per_day: null,
            requests_per_minute: 60,
            tokens_per_minute: 1_000_000,
            expires_at: null,
            models: ["demo-chat"]
          }
        },
        { limits: null },
        { limits: null }
      ])
    })
  })

  describe.sequential("a customer", () => {
    it("sees its plan and its usage after a chat", async () => {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "demo-chat",
          stream: true,
          stream_options: { include_usage: true },
          messages: [{ role: "user", content: "What is a tollgate?" }]
        })
      })
      const frames = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data)
      const { total_tokens } = (JSON.parse(frames.at(-2) ?? "") as { usage: { total_tokens: number } }).usage
      await expect.poll(() => listed("/api/reseller/usage")).toHaveLength(1)

      const customer = await Visitor.arrive(browser, server.url, options)
      await customer.open("/console/key")
      await customer.fill({ key: "tg_wrong" })
      await customer.submit()
      await customer.sees(t.problems.byCode.invalid_api_key)
      expect(await customer.faults()).toEqual([])
      await customer.fill({ key: secret })
      await customer.submit()
      await customer.at("/console/balance")
      await customer.sees(format.count(10_000_000 - total_tokens))
      await customer.sees(t.usage.tokensOf(format.count(total_tokens)))
      await customer.page.locator(".chart canvas").waitFor()
      expect(await customer.faults()).toEqual([])
      await customer.follow("/console/clients")
      await customer.sees(`Authorization: Bearer ${secret}`)
      const kept = await customer.page.evaluate(() => JSON.stringify({ ...localStorage }))
      expect(kept).not.toContain(secret)
      expect(customer.requests.filter((url) => url.includes(secret))).toEqual([])
      expect(customer.foreignRequests).toEqual([])
      expect(customer.browserErrors).toEqual([])
      await customer.page.getByRole("button", { name: t.shell.forgetKey }).click()
      await customer.at("/console")
      expect(await customer.page.evaluate(() => sessionStorage.length)).toBe(0)
      await customer.leave()
    })

    it("sees the limits of its key with the used amounts", async () => {
      const keys = (await listed("/api/reseller/keys")) as ReadonlyArray<{ readonly user_id: string }>
      const { token } = await reseller.session()
      const created = await fetch(`${server.url}/api/reseller/customers/${keys[0]?.user_id}/keys`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "tablet", limits: { spend_usd_micro_per_month: 5_000_000 } })
      })
      const customer = await Visitor.arrive(browser, server.url, options)
      await customer.open("/console/key")
      await customer.fill({ key: ((await created.json()) as { secret: string }).secret })
      await customer.submit()
      await customer.sees(t.limits.ofYourKey)
      await customer.sees(t.limits.used(format.usd(0), format.usd(5_000_000)))
      expect(await customer.faults()).toEqual([])
      expect(customer.browserErrors).toEqual([])
      await customer.leave()
    })

    it("appears in the usage of the reseller", async () => {
      await reseller.follow("/console/usage")
      await reseller.sees(CUSTOMER)
      await reseller.page.locator(".chart canvas").waitFor()
      const download = reseller.page.waitForEvent("download")
      await reseller.press(t.common.downloadCsv)
      expect((await download).suggestedFilename()).toBe("usage.csv")
      await reseller.page.getByLabel(t.usage.model).selectOption("demo-chat-large")
      await reseller.sees(t.usage.none)
      expect(await reseller.faults()).toEqual([])
    })
  })

  describe.sequential("an operator", () => {
    it("can open the link of tollgate console once", async () => {
      const waiting = {
        email: "waiting@toko.example",
        password: PASSWORD,
        name: "<b>Toko</b> Baru",
        wa_number: "62812345678"
      }
      await fetch(`${server.url}/api/reseller/auth/signup`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(waiting)
      })
      const [fragment = ""] = /#code=\S+/.exec(await server.operator("console")) ?? []
      const operator = await Visitor.arrive(browser, server.url, options)
      await operator.open(`/console/operator${fragment}`)
      await operator.at("/console/operator/home")
      expect(operator.page.url()).not.toContain("code")
      await operator.sees("<b>Toko</b> Baru")
      await operator.settled()
      expect(await operator.faults()).toEqual([])
      await operator.press(`${o.resellers.moves.approve.confirm} <b>Toko</b> Baru`)
      await operator.page.getByRole("dialog").getByRole("button", { name: o.resellers.moves.approve.confirm }).click()
      await operator.page.getByText("<b>Toko</b> Baru").first().waitFor({ state: "detached" })
      expect(await server.operator("resellers", "show", waiting.email)).toMatch(/active/)
      expect(operator.browserErrors).toEqual([])
      await operator.page.getByRole("button", { name: t.shell.leave }).click()
      await operator.at("/console")
      expect(await server.operator("console", "list")).toMatch(/ended/)
      await operator.open(`/console/operator${fragment}`)
      await operator.page.getByRole("alert").waitFor()
      await operator.sees(t.problems.byCode.invalid_code)
      await operator.leave()
    })
  })

  describe.sequential("the session of a reseller", () => {
    it("is not opened by a wrong password", async () => {
      const other = await Visitor.arrive(browser, server.url, options)
      await other.open("/console/login")
      await other.logIn("waiting@toko.example", "wrong password")
      await other.sees(t.problems.byCode.invalid_credentials)
      expect(await other.faults()).toEqual([])
      await other.fill({ password: PASSWORD })
      await other.submit()
      await other.at("/console/home")
      expect(other.browserErrors).toEqual([])
      await other.leave()
    })

    it("stores no credential in a URL or in localStorage", async () => {
      const { token } = await reseller.session()
      expect(token).toMatch(/^ey/)
      expect(reseller.requests.filter((url) => url.includes(token))).toEqual([])
      expect(await reseller.page.evaluate(() => Object.keys(localStorage))).toEqual([])
    })

    it("ends after a logout elsewhere", async () => {
      await reseller.follow("/console/customers")
      await reseller.page.evaluate(async () => {
        const { token } = JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}")
        await fetch("/api/reseller/auth/logout", { method: "POST", headers: { authorization: `Bearer ${token}` } })
      })
      await reseller.page.getByRole("link", { name: CUSTOMER }).click()
      await reseller.sees(t.access.sessionEnded)
      expect(await reseller.faults()).toEqual([])
      await reseller.logIn(RESELLER, PASSWORD)
      await reseller.at(/\/console\/customers\/[0-9a-f-]{36}$/)
      await reseller.sees(CUSTOMER)
    })

    it("stays open when the reseller changes its password", async () => {
      await reseller.follow("/console/account")
      await reseller.fill({ password: PASSWORD, newPassword: NEW_PASSWORD })
      await reseller.submit()
      await reseller.sees(t.account.passwordChanged)
      for (const field of ["password", "newPassword"])
        expect(await reseller.page.inputValue(`main input[name="${field}"]`)).toBe("")
      await reseller.follow("/console/home")
      await reseller.sees(format.usd(51_000_123))
      expect(await reseller.faults()).toEqual([])
    })

    it("ends with the suspension of the reseller", async () => {
      await server.operator("resellers", "suspend", RESELLER, "--reason", "test")
      await reseller.page.getByRole("link", { name: t.shell.pages.customers, exact: true }).click()
      await reseller.sees(t.access.sessionEnded)
      await reseller.logIn(RESELLER, NEW_PASSWORD)
      await reseller.sees(t.access.suspended)
      expect(await reseller.faults()).toEqual([])
    })

    it("causes no request to another host", () => {
      expect(reseller.browserErrors).toEqual([])
      expect(reseller.foreignRequests).toEqual([])
    })
  })
})
