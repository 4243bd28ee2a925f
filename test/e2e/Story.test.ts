/**
 * Runs docs/story.sh with a shell, curl, the command line, and a server with simulators.
 */
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bundled, CLI } from "../support/Bundle.ts"
import { ServerProcess } from "../support/ServerProcess.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const run = promisify(execFile)
const directory = mkdtempSync(join(tmpdir(), "tollgate-story-"))
const scope = Effect.runSync(Scope.make())

interface Step {
  readonly call: string
  readonly status: number
  readonly body: unknown
}

let server: ServerProcess
let told: string
let steps: ReadonlyArray<Step>

// The tests of the script are skipped on a machine without bash or curl.
const hasTools = (() => {
  try {
    execFileSync("bash", ["-c", "command -v curl"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

/**
 * Parses the steps in the output: `> METHOD PATH BODY`, then `< STATUS`, then the response as JSON on several lines.
 */
const stepsIn = (text: string): ReadonlyArray<Step> =>
  [...text.matchAll(/^> ([A-Z]+ \S+).*\n< (\d+)\n(\{[\s\S]*?^\})$/gm)].map(([, call = "", status, body = ""]) => ({
    call,
    status: Number(status),
    body: JSON.parse(body)
  }))

/** Returns the steps with this method and path, in the order of the script. `:id` stands for any id in the path. */
const stepsTo = (call: string): ReadonlyArray<Step> =>
  steps.filter((step) => step.call.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ":id") === call)

const bodyOf = (call: string, nth = 0): unknown => stepsTo(call)[nth]?.body

beforeAll(async () => {
  if (!hasTools) return
  const database = await Effect.runPromise(Scope.extend(TestDatabase.make(), scope))
  const shared = { DATABASE_URL: database.url, DATA_DIR: join(directory, "data") }
  server = await ServerProcess.start({
    ...shared,
    NODE_ENV: "development",
    PORT: String(await freePort()),
    DEMO: "on",
    SIMULATOR_PORT: "0",
    PAYMENTS_SIMULATOR: "",
    PAYMENTS_SIM_PORT: "0"
  })
  await server.printed(/Ctrl-C/)
  const environment = {
    ...shared,
    PATH: process.env.PATH,
    TOLLGATE_URL: server.url,
    PAYMENTS_URL: /payments +(\S+)/.exec(server.stdout)?.[1] ?? "",
    TOLLGATE_CLI: `${process.execPath} ${await bundled(CLI)}`
  }
  const ran = run("bash", [join(ROOT, "docs/story.sh")], { env: environment, maxBuffer: 16 * 1024 * 1024 })
  told = (
    await ran.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`docs/story.sh failed:\n${error.stdout}${error.stderr}\n${server.stderr}`)
    })
  ).stdout
  steps = stepsIn(told)
})

afterAll(async () => {
  if (hasTools) await server.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })

const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const TEXT = expect.stringMatching(/./)
const ADDRESS = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/)

describe("the README", () => {
  it("quotes commands as they are in docs/story.sh", () => {
    const read = (file: string) => readFileSync(join(ROOT, file), "utf8").split("\n")
    const quoted = read("README.md").filter((line) => /^(call|operator|top_up|token=)/.test(line))
    expect(quoted.length).toBeGreaterThan(8)
    const script = read("docs/story.sh")
    expect(quoted.filter((line) => !script.includes(line))).toEqual([])
  })
})

describe.skipIf(!hasTools)("the script docs/story.sh", () => {
  it("runs to its end", () => {
    expect(told).toMatch(/Every check passes\.\n$/)
    expect(steps.length).toBeGreaterThanOrEqual(24)
    expect(steps.map(({ status }) => status)).toEqual(steps.map(({ call }) => (isCreation(call) ? 201 : 200)))
  })

  const isCreation = (call: string): boolean => /^POST .*(\/signup|\/topup|\/keys)$/.test(call)

  it("signs up a reseller", () => {
    const reseller = { id: UUID, email: expect.stringMatching(/^story-\S+@reseller\.example$/), name: "Toko Token" }
    expect(bodyOf("POST /api/reseller/auth/signup")).toEqual({ reseller: { ...reseller, status: "pending" } })
    expect(told).toMatch(/^\$ tollgate resellers approve \S+ --reason .+\nstory-\S+ is active: /m)
    expect(bodyOf("POST /api/reseller/auth/login")).toEqual({
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      reseller: { ...reseller, status: "active" }
    })
    expect(bodyOf("GET /api/reseller/me")).toEqual({ ...reseller, status: "active" })
  })

  const order = {
    id: UUID,
    order_number: expect.stringMatching(/^RTO-[0-9a-f-]{36}$/),
    status: "pending",
    payment_status: "pending",
    provider_payment_id: TEXT,
    expires_at: TIME,
    created_at: TIME
  }
  const orders = [
    {
      ...order,
      payment_method: "qris",
      provider: "midtrans-simulator",
      amount_idr: 100_000,
      fee_idr: 5_000,
      total_idr: 105_000,
      quota_usd_micro: 10_000_000,
      qr_content: expect.stringMatching(/^000201.*6304[0-9A-F]{4}$/),
      qr_image_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/)
    },
    {
      ...order,
      payment_method: "hosted_qris",
      provider: "tripay-simulator",
      amount_idr: 50_000,
      fee_idr: 0,
      total_idr: 50_000,
      quota_usd_micro: 5_000_000,
      qr_content: expect.stringMatching(/^000201.*6304[0-9A-F]{4}$/),
      payment_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/)
    },
    {
      ...order,
      payment_method: "crypto",
      provider: "nowpayments-simulator",
      quota_usd_micro: 20_000_000,
      deposit_addresses: expect.arrayContaining([
        { network: "trx", token_kind: "usdt", deposit_address: TEXT, amount: TEXT }
      ])
    },
    {
      ...order,
      payment_method: "crypto_bep20",
      provider: "bsc-simulator",
      quota_usd_micro: 25_000_123,
      network: "bsc",
      chain_id: 56,
      token_kind: "usdc",
      contract_address: ADDRESS,
      expected_raw: "25000123000000000000",
      deposit_address: ADDRESS
    }
  ]

  it("tops up by each payment method", () => {
    const made = stepsTo("POST /api/reseller/topup")
    const seen = stepsTo("GET /api/reseller/topup/:id")
    expect(made.map(({ body }) => body)).toEqual(orders)
    const paid = { status: "credited", payment_status: "paid", paid_at: TIME, credited_at: TIME }
    const received = { received_raw: "25000123000000000000", received_micro: "25000123" }
    expect(seen.map(({ body }) => body)).toEqual(
      made.map(({ body }, nth) => ({ ...(body as object), ...paid, ...(nth === 3 ? received : {}) }))
    )
    const { provider_payment_id: _, ...listed } = (seen[3] as Step).body as Record<string, unknown>
    const list = bodyOf("GET /api/reseller/topups?limit=2") as { topups: ReadonlyArray<unknown>; total: number }
    expect(list).toEqual({ topups: [listed, expect.objectContaining({ payment_method: "crypto" })], total: 4 })
    expect(bodyOf("GET /api/reseller/balance")).toEqual({ balance_usd_micro: "60000123" })
  })

  it("mints once for repeated requests", () => {
    const customer = bodyOf("POST /api/reseller/customers") as { user_id: string; email: string }
    expect(customer).toEqual({
      user_id: UUID,
      email: expect.stringMatching(/^story-\S+@customer\.example$/),
      created: true
    })
    const tier = {
      plan_tier_id: UUID,
      model_id: UUID,
      model_name: "demo-chat",
      tier_usd_cents: 500,
      price_usd_micro: 5_000_000,
      granted_tokens: 5_000_000,
      topup_idr_required: 50_000
    }
    expect(bodyOf("GET /api/reseller/tiers")).toEqual({
      tiers: [
        tier,
        {
          ...tier,
          model_name: "demo-chat-large",
          tier_usd_cents: 2_000,
          price_usd_micro: 20_000_000,
          granted_tokens: 4_000_000,
          topup_idr_required: 200_000
        }
      ]
    })
    const minted = {
      customer_user_id: customer.user_id,
      model_id: UUID,
      granted_tokens: 5_000_000,
      price_usd_micro: "5000000",
      balance_after: "55000123",
      already_applied: false
    }
    expect(bodyOf("POST /api/reseller/mint", 0)).toEqual(minted)
    expect(bodyOf("POST /api/reseller/mint", 1)).toEqual({ ...minted, already_applied: true })
    expect(bodyOf("POST /api/reseller/customers/:id/keys")).toEqual({
      key_id: UUID,
      name: "first key",
      secret: expect.stringMatching(/^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/)
    })
    expect(bodyOf("GET /api/reseller/balance", 1)).toEqual({ balance_usd_micro: "55000123" })
  })

  it("streams a response that appears in the usage", () => {
    const frames = [...told.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data)
    expect(frames.at(-1)).toBe("[DONE]")
    const { usage } = JSON.parse(frames.at(-2) ?? "") as { usage: { total_tokens: number } }
    const { user_id, email } = bodyOf("POST /api/reseller/customers") as { user_id: string; email: string }

    const lastUsage = stepsTo("GET /api/reseller/usage?limit=10").at(-1)?.body
    const item = {
      user_id,
      model: "demo-chat",
      total_tokens: usage.total_tokens,
      display_cost_usd_micro: expect.stringMatching(/^\d+(\.\d+)?$/),
      timestamp: TIME
    }
    expect(lastUsage).toEqual({ data: [item], next_cursor: null })

    const balances = {
      customer_user_id: user_id,
      payg: { currency: "USD", balance: "0.000000" },
      token_plans: [
        {
          model: "demo-chat",
          purchased_tokens: 5_000_000,
          used_tokens: usage.total_tokens,
          remaining_tokens: 5_000_000 - usage.total_tokens,
          status: "active"
        }
      ],
      as_of: TIME
    }
    const { key_id } = bodyOf("POST /api/reseller/customers/:id/keys") as { key_id: string }
    expect(bodyOf("GET /api/reseller/keys/:id/balances")).toEqual({ key_id, ...balances })
    expect(bodyOf("GET /api/reseller/customers/:id/balances")).toEqual(balances)
    expect(bodyOf("GET /api/reseller/customers")).toEqual({ customers: [{ user_id, email }] })
    expect(bodyOf("DELETE /api/reseller/keys/:id")).toEqual({ key_id, revoked: true, revoked_at: TIME })
  })
})
