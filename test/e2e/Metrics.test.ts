/**
 * Tests the metrics by model and provider, the metrics of the process, and the access to the metrics port.
 */
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"
import { chatFrames, completion, errorBody, usage } from "../support/upstream/ChatWire.ts"
import { json, stream } from "../support/upstream/Script.ts"

const TOKEN = "metrics-token-with-at-least-32-characters"
/** All test files in a process share its counters, so no other test file may use this model and these providers. */
const MODEL = "metered-model"
const [FIRST, SECOND] = ["first-provider", "second-provider"]

let gateway: TestGateway
let metricsUrl: string

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

const provider = (name: string) => ({
  name,
  base_url: gateway.upstream.baseUrl,
  api_key_env: "PROVIDER_KEY",
  protocols: ["chat"],
  max_concurrency: 7,
  breaker: { failures: 2, window_ms: 60_000, open_ms: 3_600_000 }
})

beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  gateway = await TestGateway.start({ settings: { METRICS_PORT: String(port), METRICS_TOKEN: TOKEN } })
  await gateway.applyCatalogFile({
    providers: [provider(FIRST), provider(SECOND)],
    models: [
      {
        public_name: MODEL,
        display_name: "M",
        author: "Lab",
        price_usd_micro_per_million_tokens: { input: 1e6, cache_read: 500_000, cache_write: 1e6, output: 2e6 },
        routes: [
          { provider: FIRST, upstream_model: "u", priority: 1 },
          { provider: SECOND, upstream_model: "u", priority: 2 }
        ]
      }
    ]
  })
})
afterAll(() => gateway.close())

const read = async (authorization = `Bearer ${TOKEN}`) =>
  (await fetch(metricsUrl, { headers: { authorization, connection: "close" } })).text()

/** Returns the value of the first series with this name and at least these labels. */
const valueOf = (page: string, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined => {
  for (const line of page.split("\n")) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue
    if (Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`))) {
      return Number(line.slice(line.lastIndexOf(" ") + 1))
    }
  }
  return undefined
}

const ask = async (model: string, streamed: boolean): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model, stream: streamed, messages: [{ role: "user", content: "Hi there" }] })
  })
  await response.text()
  return response.status
}

const first = { model: MODEL, provider: FIRST }
const second = { model: MODEL, provider: SECOND }

describe("the metrics by model and provider", () => {
  it("have counters of zero before the first request", async () => {
    const page = await read()
    for (const route of [first, second]) {
      expect(valueOf(page, "tollgate_attempts_total", route)).toBe(0)
      expect(valueOf(page, "tollgate_charged_tokens_total", { ...route, class: "cache_read" })).toBe(0)
      expect(valueOf(page, "tollgate_spend_usd_total", { ...route, balance: "payg" })).toBe(0)
      expect(valueOf(page, "tollgate_route_time_to_first_token_seconds_count", route)).toBeUndefined()
    }
    expect(valueOf(page, "tollgate_breaker_state", { provider: FIRST })).toBe(0)
    expect(valueOf(page, "tollgate_provider_max_exchanges", { provider: SECOND })).toBe(7)
  })

  it("count the tokens and the money of the settlements", async () => {
    gateway.upstream.next(stream(chatFrames({ content: ["a", "b", "c"], usage: usage(10, 3, 4) })))
    expect(await ask(MODEL, true)).toBe(200)
    gateway.upstream.next(json(completion({ content: ["a"], usage: usage(5, 2) })))
    expect(await ask(MODEL, false)).toBe(200)
    await gateway.settled()
    await vi.waitFor(
      async () =>
        expect(valueOf(await read(), "tollgate_settled_requests_total", { ...first, ending: "complete" })).toBe(2),
      60_000
    )
    const page = await read()
    const tokens = (name: string) => valueOf(page, "tollgate_charged_tokens_total", { ...first, class: name })
    expect([tokens("input"), tokens("cache_read"), tokens("cache_write"), tokens("output")]).toEqual([11, 4, 0, 5])
    const [sum] = await gateway.query<{ cost: bigint }>("SELECT sum(cost_pico)::bigint AS cost FROM settlement")
    expect(valueOf(page, "tollgate_spend_usd_total", { ...first, balance: "payg" })).toBeCloseTo(
      Number(sum?.cost) / 1e12,
      9
    )
    expect(valueOf(page, "tollgate_attempts_total", first)).toBe(2)
    expect(valueOf(page, "tollgate_attempts_total", second)).toBe(0)
    expect(valueOf(page, "tollgate_route_time_to_first_token_seconds_count", first)).toBe(1)
    expect(valueOf(page, "tollgate_route_time_to_first_token_seconds_bucket", { ...first, le: "+Inf" })).toBe(1)
    expect(valueOf(page, "tollgate_route_time_per_token_seconds_count", first)).toBe(1)
    expect(valueOf(page, "tollgate_operator_loss_tokens_total", { ...first, class: "output" })).toBe(0)
  })

  it("count failed attempts and fallbacks", async () => {
    for (let failed = 0; failed < 2; failed++) {
      gateway.upstream.next(json(errorBody("broken"), 500))
      gateway.upstream.next(json(completion({ usage: usage(1, 1) })))
      expect(await ask(MODEL, false)).toBe(200)
    }
    gateway.upstream.next(json(completion({ usage: usage(1, 1) })))
    expect(await ask(MODEL, false)).toBe(200)
    const page = await read()
    expect(valueOf(page, "tollgate_attempt_failures_total", { ...first, reason: "upstream_failed" })).toBe(2)
    expect(valueOf(page, "tollgate_attempt_failures_total", { ...first, reason: "circuit_open" })).toBe(1)
    expect(valueOf(page, "tollgate_fallbacks_total", first)).toBe(3)
    expect(valueOf(page, "tollgate_fallbacks_total", second)).toBe(0)
    expect(valueOf(page, "tollgate_breaker_state", { provider: FIRST })).toBe(2)
    expect(valueOf(page, "tollgate_breaker_state", { provider: SECOND })).toBe(0)
    expect(valueOf(page, "tollgate_settled_requests_total", { ...second, ending: "complete" })).toBe(3)
  })

  it("count consumed tokens without a charge as operator loss", async () => {
    const usageWithoutContent = [{ ...chatFrames({ content: [] })[0], choices: [], usage: usage(20, 6) }]
    gateway.upstream.next(
      stream(usageWithoutContent.concat([{ error: { message: "broken", type: "server_error" } } as never]))
    )
    await ask(MODEL, true)
    await gateway.settled()
    await vi.waitFor(
      async () =>
        expect(valueOf(await read(), "tollgate_settled_requests_total", { ...second, ending: "failed" })).toBe(1),
      60_000
    )
    const page = await read()
    expect(valueOf(page, "tollgate_operator_loss_tokens_total", { ...second, class: "input" })).toBe(20)
    expect(valueOf(page, "tollgate_operator_loss_usd_total", second)).toBeCloseTo((20 + 12) / 1e6, 9)
  })

  it("do not contain the name of an unknown model", async () => {
    const name = "a-model-that-a-client-has-invented"
    const before = valueOf(await read(), "tollgate_refusals_total", { model: "other", reason: "model_not_found" }) ?? 0
    expect(await ask(name, false)).toBe(404)
    const page = await read()
    expect(valueOf(page, "tollgate_refusals_total", { model: "other", reason: "model_not_found" })).toBe(before + 1)
    expect(page).not.toContain(name)
  })
})

describe("the metrics of the process", () => {
  it("contain background tasks, database connections, top-ups and the version", async () => {
    await vi.waitFor(
      async () =>
        expect(
          valueOf(await read(), "tollgate_background_task_runs_total", { task: "node heartbeat", result: "success" })
        ).toBeGreaterThan(0),
      60_000
    )
    const page = await read()
    const age =
      Date.now() / 1_000 -
      (valueOf(page, "tollgate_background_task_last_success_timestamp_seconds", { task: "node heartbeat" }) ?? 0)
    expect(age).toBeLessThan(3_600)
    expect(valueOf(page, "tollgate_background_task_interval_seconds", { task: "top-up refresh" })).toBe(30)
    expect(valueOf(page, "tollgate_database_connections_max", { pool: "shared" })).toBeGreaterThanOrEqual(10)
    expect(valueOf(page, "tollgate_database_connections", { pool: "shared", state: "idle" })).toBeGreaterThanOrEqual(0)
    expect(valueOf(page, "tollgate_topups_total", { method: "qris", outcome: "credited" })).toBeGreaterThanOrEqual(0)
    expect(page).toMatch(/^tollgate_build_info\{version="[^"]+",node_version="v\d+\.[^"]+"\} 1$/m)
  })
})

describe("the metrics port with METRICS_TOKEN", () => {
  it.each(["", "Bearer", `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN])(
    "refuses the authorization header %j",
    async (authorization) => {
      const response = await fetch(metricsUrl, { headers: { authorization, connection: "close" } })
      expect(response.status).toBe(401)
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      expect(await response.text()).toBe("")
    }
  )

  it("accepts the token", async () => {
    const headers = { authorization: `bearer ${TOKEN}`, connection: "close" }
    expect((await fetch(metricsUrl, { headers })).status).toBe(200)
    expect((await fetch(metricsUrl.replace("/metrics", "/"), { headers })).status).toBe(404)
    expect((await fetch(metricsUrl, { headers, method: "POST" })).status).toBe(404)
  })
})
