/**
 * Takes the screenshots of the pages of visitors, resellers, customers and operators for docs/console. The images show
 * a running demo with a reseller and usage that this program creates:
 *
 *     npm start                        in one terminal
 *     npm run screenshots:console      in another; writes docs/console/*.png
 */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"
import { promisify } from "node:util"
import type { Browser as Chromium, Page } from "playwright-core"
import { readProgram } from "../support/Program.ts"
import * as Browser from "../support/rankings/Browser.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const FOLDER = resolve(ROOT, process.env.SCREENSHOTS ?? "docs/console")
const GATEWAY = process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"
const PAYMENTS = process.env.PAYMENTS_URL ?? "http://127.0.0.1:4010"
const PASSWORD = "correct horse battery"
/**
 * A part of each email. It differs in each run, because the customers of an earlier run belong to the reseller of that
 * run.
 */
const RUN = Date.now().toString(36).slice(-4)
const CUSTOMERS = ["budi@warung", "sari@kopi", "studio@gambar"].map((name) => `${name}-${RUN}.example`)
const RESELLER = `toko@token-${RUN}.example`
const PROMPT = "Tuliskan jadwal promosi kedai kopi untuk satu minggu, dengan satu kalimat tiap hari. "

const post = async (path: string, token: string, body: object): Promise<Record<string, string>> => {
  const response = await fetch(GATEWAY + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token === "" ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return JSON.parse(text) as Record<string, string>
}

interface Business {
  readonly token: string
  readonly key: string
  readonly keyId: string
  readonly order: string
  readonly customer: string
}

/** Creates a reseller with a paid and an open top-up, with customers, their plans and keys, and usage. */
const business = async (): Promise<Business> => {
  await post("/api/reseller/auth/signup", "", {
    email: RESELLER,
    password: PASSWORD,
    name: "Toko Token Nusantara",
    wa_number: "6281234567890"
  })
  const approve = ["apps/cli/dist/main.js", "resellers", "approve", RESELLER, "--reason", "screenshots"]
  await promisify(execFile)(process.execPath, approve, { cwd: ROOT })
  const { token = "" } = await post("/api/reseller/auth/login", "", { email: RESELLER, password: PASSWORD })
  const paid = await post("/api/reseller/topup", token, { method: "qris", amount_idr: 1_500_000 })
  await fetch(`${PAYMENTS}/pay/${paid.order_number}`, { method: "POST" })
  await fetch(`${GATEWAY}/api/reseller/topup/${paid.id}`, { headers: { authorization: `Bearer ${token}` } })
  const open = await post("/api/reseller/topup", token, { method: "qris", amount_idr: 250_000 })
  const tiers = await fetch(`${GATEWAY}/api/reseller/tiers`, { headers: { authorization: `Bearer ${token}` } })
  const list = ((await tiers.json()) as { tiers: ReadonlyArray<{ plan_tier_id: string }> }).tiers
  let key = ""
  let keyId = ""
  let customer = ""
  for (const [i, email] of CUSTOMERS.entries()) {
    const { user_id } = await post("/api/reseller/customers", token, { email })
    const plan_tier_id = list[i % list.length]?.plan_tier_id ?? ""
    await post("/api/reseller/mint", token, { operation_id: `${RESELLER}-${i}`, customer_email: email, plan_tier_id })
    const limits = { spend_usd_micro_per_day: 2_500_000, requests_per_minute: 60 }
    const { secret = "", key_id = "" } = await post(`/api/reseller/customers/${user_id}/keys`, token, {
      name: "laptop",
      limits
    })
    const model = i % list.length === 0 ? "demo-chat" : "demo-chat-large"
    for (let n = 1; n <= 4; n++) {
      const content = PROMPT.repeat(n * 40)
      await post("/v1/chat/completions", secret, { model, messages: [{ role: "user", content }] })
    }
    if (i === 0) [key, keyId, customer] = [secret, key_id, user_id ?? ""]
  }
  return { token, key, keyId, order: open.id ?? "", customer }
}

/** Opens the session of an operator. Returns its token. */
const operatorToken = async (): Promise<string> => {
  const command = ["apps/cli/dist/main.js", "console", "--name", "ani"]
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT })
  const { token = "" } = await post("/api/operator/session", "", { code: /#code=(\S+)/.exec(stdout)?.[1] ?? "" })
  return token
}

const devices = {
  phone: { viewport: { width: 390, height: 844 } },
  desktop: { viewport: { width: 1280, height: 800 } }
}

interface Screenshot {
  readonly name: string
  readonly path: string
  readonly device: keyof typeof devices
  readonly language: "id-ID" | "en-US"
  readonly colorScheme: "light" | "dark"
  readonly session: "none" | "reseller" | "customer" | "operator"
}

const shot = (
  name: string,
  path: string,
  session: Screenshot["session"],
  more: Partial<Screenshot> = {}
): Screenshot => ({ name, path, session, device: "phone", language: "id-ID", colorScheme: "light", ...more })

const take = async (browser: Chromium, session: string, shown: Screenshot): Promise<void> => {
  const { name, device, language, colorScheme } = shown
  const context = await browser.newContext({
    ...devices[device],
    locale: language,
    colorScheme,
    timezoneId: "Asia/Jakarta"
  })
  const page = await context.newPage()
  await page.goto(`${GATEWAY}/console`)
  if (session !== "") await page.evaluate((text) => sessionStorage.setItem("tollgate.session", text), session)
  await page.goto(GATEWAY + shown.path)
  await ready(page)
  const path = resolve(FOLDER, `${name}.png`)
  await page.screenshot({ path })
  await context.close()
  console.log(path)
}

const ready = async (page: Page): Promise<void> => {
  await page.locator("h1").waitFor()
  await page.waitForFunction(() => document.querySelector(".placeholder") === null)
  await page.evaluate(() => document.fonts.ready)
  await page.waitForTimeout(500)
}

readProgram({})
const browser = await Browser.open()
if (typeof browser === "string") throw new Error(`no screenshots were taken, because there is no browser: ${browser}`)
try {
  await mkdir(FOLDER, { recursive: true })
  const { token, key, keyId, order, customer } = await business()
  const reseller = { id: "any", email: RESELLER, name: "Toko Token Nusantara" }
  const sessions = {
    none: "",
    reseller: JSON.stringify({ kind: "reseller", token, reseller }),
    customer: JSON.stringify({ kind: "customer", key }),
    operator: JSON.stringify({ kind: "operator", token: await operatorToken(), actor: "ani" })
  }
  const desktop = { device: "desktop", language: "en-US" } as const
  const dark = { colorScheme: "dark" } as const
  const screenshots: ReadonlyArray<Screenshot> = [
    shot("start", "/", "none", desktop),
    shot("start-phone", "/", "none", dark),
    shot("not-found-phone", "/no-such-page", "none"),
    shot("docs", "/docs", "none", desktop),
    shot("docs-phone", "/docs", "none", dark),
    shot("welcome-phone", "/console", "none"),
    shot("signup-phone", "/console/signup", "none", dark),
    shot("login-phone", "/console/login", "none"),
    shot("waiting-phone", "/console/waiting", "none"),
    shot("key-phone", "/console/key", "none", dark),
    shot("home", "/console/home", "reseller", { device: "desktop" }),
    shot("home-phone", "/console/home", "reseller", { colorScheme: "dark" }),
    shot("mint-phone", "/console/mint", "reseller"),
    shot("customer-phone", `/console/customers/${customer}`, "reseller"),
    shot("customer", `/console/customers/${customer}`, "reseller", { ...desktop, ...dark }),
    shot("topup-phone", `/console/topups/${order}`, "reseller"),
    shot("topup-new-phone", "/console/topups/new", "reseller", dark),
    shot("usage-phone", "/console/usage", "reseller", dark),
    shot("account", "/console/account", "reseller", desktop),
    shot("topups", "/console/topups", "reseller", { device: "desktop", language: "en-US", colorScheme: "dark" }),
    shot("usage", "/console/usage", "reseller", { device: "desktop", language: "en-US" }),
    shot("customers", "/console/customers", "reseller", { device: "desktop", language: "en-US" }),
    shot("balance-phone", "/console/balance", "customer"),
    shot("clients", "/console/clients", "customer", { device: "desktop", language: "en-US", colorScheme: "dark" }),
    shot("operator-phone", "/console/operator/home", "operator"),
    shot("operator-reseller", `/console/operator/resellers/${RESELLER}`, "operator", {
      device: "desktop",
      language: "en-US"
    }),
    shot("operator-catalog", "/console/operator/catalog", "operator", { device: "desktop", colorScheme: "dark" }),
    shot("operator-resellers-phone", "/console/operator/resellers", "operator"),
    shot("operator-blacklist-phone", "/console/operator/blacklist", "operator", dark),
    shot("operator-customers", "/console/operator/customers", "operator", desktop),
    shot("operator-customer-phone", `/console/operator/customers/${customer}`, "operator"),
    shot("operator-key", `/console/operator/keys/${keyId}`, "operator", { ...desktop, ...dark }),
    shot("operator-topups-phone", "/console/operator/topups", "operator"),
    shot("operator-topup", `/console/operator/topups/${order}`, "operator", desktop),
    shot("operator-images-phone", "/console/operator/images", "operator", dark),
    shot("operator-service-phone", "/console/operator/service", "operator"),
    shot("operator-nodes", "/console/operator/nodes", "operator", desktop),
    shot("operator-holds-phone", "/console/operator/holds", "operator", dark),
    shot("operator-checks", "/console/operator/checks", "operator", desktop),
    shot("operator-audit-log-phone", "/console/operator/audit-log", "operator"),
    shot("operator-sessions-phone", "/console/operator/sessions", "operator", dark)
  ]
  for (const each of screenshots) await take(browser, sessions[each.session], each)
} finally {
  await browser.close()
}
