/**
 * Uses the console in a real browser: a reseller from the signup to a customer's usage. Also tests requests that are
 * sent twice, lost responses, expired orders, ended sessions and suspended resellers.
 */
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { ConsoleServer } from "../support/console/ConsoleServer.ts"
import { Visitor } from "../support/console/Visitor.ts"
import * as HeadlessBrowser from "../support/rankings/Browser.ts"

const opened = await HeadlessBrowser.open()
if (typeof opened === "string")
  console.warn(`the tests of the console are skipped because the browser cannot be started (${opened})`)
const browser = opened as Browser
const isMissing = typeof opened === "string"

vi.setConfig({ testTimeout: 60_000 })

const RESELLER = "owner@toko.example"
const PASSWORD = "correct horse battery"
const CUSTOMER = "budi@pelanggan.example"

let server: ConsoleServer
let reseller: Visitor
let secret = ""

beforeAll(async () => {
  if (isMissing) return
  server = await ConsoleServer.start()
  reseller = await Visitor.arrive(browser, server.url, { language: "id" })
}, 240_000)

afterAll(async () => {
  if (isMissing) return
  await browser.close()
  await server.close()
})

/** Reads a list of the reseller, with the token of the page. A login of the test would count as an attempt. */
const listed = (path: string): Promise<ReadonlyArray<unknown>> =>
  reseller.page.evaluate(async (url) => {
    const { token } = JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}")
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return ((await response.json()) as { data: ReadonlyArray<unknown> }).data
  }, path)

const orderNumber = async (): Promise<string> => {
  const shown = await reseller.page.locator("main dd", { hasText: /^RTO-/ }).textContent()
  return shown ?? ""
}

describe.skipIf(isMissing).sequential("a reseller in the console", () => {
  it("signs up, waits for the review, and is logged in when an operator has approved", async () => {
    await reseller.open("/console")
    await reseller.page.getByRole("link", { name: "Daftar" }).click()
    await reseller.fill({ name: "Toko Token", email: RESELLER, number: "0812-3456-7890", password: "short" })
    await reseller.submit()
    await reseller.fill({ password: PASSWORD })
    await reseller.submit()
    await reseller.at("/console/waiting")
    await reseller.press("Sudah selesai?")
    await reseller.sees("Peninjauan belum selesai.")
    await server.operator("resellers", "approve", RESELLER, "--reason", "test")
    await reseller.press("Sudah selesai?")
    await reseller.at("/console/home")
    await reseller.sees("$0,00")
    await reseller.sees("Tambahkan pelanggan pertama Anda")
  })

  it.each([
    ["qris", "100.000", "Rp105.000"],
    ["hosted_qris", "Rp50.000", "Rp50.000"],
    ["crypto", "20", "20"],
    ["crypto_bep20", "25,000123", "25.000123"]
  ])("tops up by %s and sees the payment arrive", async (method, amount, shown) => {
    await reseller.follow("/console/topups/new")
    await reseller.page.check(`input[value="${method}"]`)
    await reseller.fill({ amount })
    await reseller.submit()
    await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    await reseller.sees(shown)
    await reseller.page.locator("svg.qr path").waitFor()
    await reseller.sees("Menunggu pembayaran")
    await server.payer("pay", await orderNumber())
    await reseller.looksAgain()
    await reseller.sees(/^Kuota \$.* sudah masuk\.$/)
  })

  it("sees an underpaid order with the missing amount, and an expired order", async () => {
    await reseller.follow("/console/topups/new")
    await reseller.page.check('input[value="crypto_bep20"]')
    await reseller.fill({ amount: "10" })
    await reseller.submit()
    await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    await reseller.sees("Menunggu pembayaran")
    await server.payer("underpay", await orderNumber())
    await reseller.looksAgain()
    await reseller.sees(/sudah diterima\. Kirim kekurangan/)

    await reseller.follow("/console/topups/new")
    await reseller.fill({ amount: "20000" })
    await reseller.submit()
    await reseller.at(/\/console\/topups\/[0-9a-f-]{36}$/)
    await reseller.sees("Rp21.000")
    await server.payer("expire", await orderNumber())
    await reseller.looksAgain()
    await reseller.sees("Kedaluwarsa")
    expect(await reseller.page.locator("svg.qr").count()).toBe(0)
  })

  it("sees the allowed range of an amount", async () => {
    await reseller.follow("/console/topups/new")
    await reseller.fill({ amount: "1" })
    await reseller.submit()
    await reseller.sees("Isi jumlah dari Rp10.000 sampai Rp9.500.000.")
  })

  it("mints once when the button is clicked twice", async () => {
    await reseller.follow("/console/mint")
    await reseller.fill({ email: CUSTOMER })
    await reseller.page.locator("label.tier", { hasText: "$5,00" }).click()
    await reseller.submit()
    await reseller.sees("$60,000123")
    await reseller.sees("$55,000123")
    const button = reseller.page.getByRole("button", { name: "Jual sekarang" })
    await button.evaluate((element: HTMLElement) => {
      element.click()
      element.click()
    })
    await reseller.sees(`${CUSTOMER} menerima 5.000.000 token.`)
    expect(await listed("/api/reseller/mints")).toHaveLength(1)
  })

  it("mints once when the response is lost and the page is loaded again", async () => {
    await reseller.press("Jual lagi")
    await reseller.fill({ email: CUSTOMER })
    await reseller.page.locator("label.tier", { hasText: "$5,00" }).click()
    await reseller.submit()
    await reseller.page.route("**/api/reseller/mint", async (route) => {
      await route.fetch()
      await route.abort()
    })
    await reseller.press("Jual sekarang")
    await reseller.sees("Hasilnya belum diketahui")
    await reseller.page.unroute("**/api/reseller/mint")
    await reseller.page.reload()
    await reseller.sees("Hasilnya belum diketahui")
    await reseller.press("Tanyakan lagi")
    await reseller.sees("$50,000123")
    expect(await listed("/api/reseller/mints")).toHaveLength(2)
    reseller.troubles.length = 0
  })

  it("creates an API key whose secret is shown once, and revokes a key only after a confirmation", async () => {
    await reseller.page.getByRole("link", { name: "Buat kunci API" }).click()
    for (const name of ["laptop", "server"]) {
      await reseller.fill({ name })
      await reseller.submit()
      await reseller.sees("Kunci sudah dibuat")
      const shown = await reseller.page.locator(".copy code").first().textContent()
      if (name === "laptop") secret = shown ?? ""
      await reseller.press("Rahasia sudah saya simpan")
    }
    expect(secret).toMatch(/^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/)
    expect(await reseller.page.content()).not.toContain(secret)
    await reseller.press("Cabut server")
    await reseller.page.getByRole("button", { name: "Batal" }).click()
    await reseller.press("Cabut server")
    await reseller.page.getByRole("dialog").getByRole("button", { name: "Cabut" }).click()
    await reseller.sees(/Dicabut \d/)
    expect(await reseller.page.getByText("Dicabut", { exact: true }).count()).toBe(1)
  })
})

describe.skipIf(isMissing).sequential("a customer in the console", () => {
  it("streams a chat with the key, and sees its plan and its usage with the same key", async () => {
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
    await expect.poll(() => listed("/api/reseller/usage"), { timeout: 15_000 }).toHaveLength(1)

    const customer = await Visitor.arrive(browser, server.url, { language: "en" })
    await customer.open("/console/key")
    await customer.fill({ key: "tg_wrong" })
    await customer.submit()
    await customer.sees("This API key is wrong or revoked.")
    await customer.fill({ key: secret })
    await customer.submit()
    await customer.at("/console/balance")
    await customer.sees((10_000_000 - total_tokens).toLocaleString("en-US"))
    await customer.sees(`${total_tokens} tokens`)
    await customer.page.locator(".chart canvas").waitFor()
    await customer.follow("/console/clients")
    await customer.sees(`Authorization: Bearer ${secret}`)
    const kept = await customer.page.evaluate(() => JSON.stringify({ ...localStorage }))
    expect(kept).not.toContain(secret)
    expect(customer.requests.filter((url) => url.includes(secret))).toEqual([])
    expect(customer.foreignRequests).toEqual([])
    expect(customer.troubles).toEqual([])
    await customer.page.getByRole("button", { name: "Forget the key" }).click()
    await customer.at("/console")
    expect(await customer.page.evaluate(() => sessionStorage.length)).toBe(0)
    await customer.leave()
  })

  it("is visible to the reseller: usage, filters and CSV", async () => {
    await reseller.follow("/console/usage")
    await reseller.sees(CUSTOMER)
    await reseller.page.locator(".chart canvas").waitFor()
    const download = reseller.page.waitForEvent("download")
    await reseller.press("Unduh sebagai CSV")
    expect((await download).suggestedFilename()).toBe("usage.csv")
    await reseller.page.getByLabel("Model").selectOption("demo-chat-large")
    await reseller.sees("Tidak ada pemakaian di hari-hari ini")
  })
})

describe.skipIf(isMissing).sequential("an operator in the console", () => {
  it("opens the link of tollgate console once, and approves a reseller after a confirmation", async () => {
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
    const operator = await Visitor.arrive(browser, server.url, { language: "en" })
    await operator.open(`/console/operator${fragment}`)
    await operator.at("/console/operator/home")
    expect(operator.page.url()).not.toContain("code")
    await operator.sees("<b>Toko</b> Baru")
    await operator.settled()
    expect(await operator.violations()).toEqual([])
    expect(await operator.overflow()).toBeLessThanOrEqual(0)
    await operator.press("Approve <b>Toko</b> Baru")
    await operator.page.getByRole("dialog").getByRole("button", { name: "Approve" }).click()
    await operator.page.getByText("<b>Toko</b> Baru").first().waitFor({ state: "detached" })
    expect(await server.operator("resellers", "show", waiting.email)).toMatch(/active/)
    expect(operator.troubles).toEqual([])
    await operator.page.getByRole("button", { name: "Leave" }).click()
    await operator.at("/console")
    expect(await server.operator("console", "list")).toMatch(/ended/)
    await operator.open(`/console/operator${fragment}`)
    await operator.page.getByRole("alert").waitFor()
    await operator.leave()
  })
})

describe.skipIf(isMissing).sequential("the session of a reseller", () => {
  it("stores no credential in a URL or in localStorage", async () => {
    const { token } = await reseller.page.evaluate(() => JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}"))
    expect(token).toMatch(/^ey/)
    expect(reseller.requests.filter((url) => url.includes(token))).toEqual([])
    expect(await reseller.page.evaluate(() => Object.keys(localStorage))).toEqual([])
  })

  it("ends after a change of the password elsewhere, and a login returns to the page", async () => {
    await reseller.follow("/console/customers")
    await reseller.page.evaluate(async () => {
      const { token } = JSON.parse(sessionStorage.getItem("tollgate.session") ?? "{}")
      await fetch("/api/reseller/auth/logout", { method: "POST", headers: { authorization: `Bearer ${token}` } })
    })
    await reseller.page.getByRole("link", { name: CUSTOMER }).click()
    await reseller.sees("Sesi Anda sudah berakhir")
    await reseller.logIn(RESELLER, PASSWORD)
    await reseller.at(/\/console\/customers\/[0-9a-f-]{36}$/)
    await reseller.sees(CUSTOMER)
  })

  it("changes its password, and stays logged in", async () => {
    await reseller.follow("/console/account")
    await reseller.fill({ password: PASSWORD, newPassword: "another password" })
    await reseller.submit()
    await reseller.sees(/Kata sandi sudah diganti/)
    await reseller.follow("/console/home")
    await reseller.sees("$50,000123")
  })

  it("ends with the suspension of the reseller, and a login states the reason", async () => {
    await server.operator("resellers", "suspend", RESELLER, "--reason", "test")
    await reseller.page.getByRole("link", { name: "Pelanggan", exact: true }).click()
    await reseller.sees("Sesi Anda sudah berakhir")
    await reseller.logIn(RESELLER, "another password")
    await reseller.sees("Akun ini ditangguhkan")
  })

  it("has caused no error in the browser and no request to another host", () => {
    expect(reseller.troubles).toEqual([])
    expect(reseller.foreignRequests).toEqual([])
  })
})
