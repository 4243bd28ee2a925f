/**
 * Tests that responses, metrics and the log contain no secrets. The upstream names itself in headers, body members and
 * error messages.
 */
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { RawClient } from "../support/RawClient.ts"
import { leaksIn, RecordingProxy } from "../support/RecordingProxy.ts"
import { PROVIDER_KEY, TEST_JWT_SECRET, TestGateway } from "../support/TestGateway.ts"
import { chunk, completion, errorBody, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import {
  bytes,
  closeImmediately,
  cut,
  done,
  event,
  json,
  type Script,
  script,
  text
} from "../support/upstream/Script.ts"

const PROVIDER = "kwyjibo"
const MODEL = "kwyjibo/llama-9-turbo"
const COST = "0.0073131"
const LIST_PRICE = "777001"
const CONVERSATION = "the plans for the birthday party"
const RESPONSE_TEXT = "Hi there"
const PEPPER = "the pepper of the gateway that keeps secrets"

/** Texts that only the operator may see. */
const ofTheOperator = ["kwyjibo", "llama-9", COST, LIST_PRICE, PROVIDER_KEY, "PROVIDER_KEY"]

let gateway: TestGateway
let proxy: RecordingProxy
let metricsUrl: string
const log: Array<string> = []

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

beforeAll(async () => {
  const metricsPort = await freePort()
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  gateway = await TestGateway.start({
    settings: { METRICS_PORT: String(metricsPort), KEY_PEPPER: PEPPER },
    log: (line) => log.push(line)
  })
  await gateway.applyCatalogFile({
    providers: [
      {
        name: PROVIDER,
        base_url: gateway.upstream.baseUrl,
        api_key_env: "PROVIDER_KEY",
        protocols: ["chat"],
        timeouts: { first_byte_ms: 5_000, idle_ms: 300, total_ms: 10_000 }
      }
    ],
    models: [
      {
        public_name: "m",
        display_name: "M",
        author: "Lab",
        price_usd_micro_per_million_tokens: {
          input: Number(LIST_PRICE),
          cache_read: Number(LIST_PRICE),
          cache_write: Number(LIST_PRICE),
          output: Number(LIST_PRICE)
        },
        routes: [{ provider: PROVIDER, upstream_model: MODEL }],
        tiers: [{ tier_usd_cents: 500, granted_tokens: 1_000 }]
      }
    ]
  })
  proxy = await RecordingProxy.start(gateway.url)
})
afterAll(async () => {
  await proxy.close()
  await gateway.close()
})

const headers = {
  server: "kwyjibo-edge",
  via: "1.1 kwyjibo.example",
  "x-request-id": "req_kwyjibo",
  "request-id": "req_kwyjibo",
  "openai-organization": "kwyjibo",
  "x-ratelimit-remaining-tokens": "731",
  "anthropic-organization-id": "kwyjibo",
  "cf-ray": "kwyjibo-SIN",
  "server-timing": "kwyjibo;dur=1",
  "set-cookie": "session=kwyjibo; Domain=kwyjibo.example",
  "access-control-allow-origin": "https://kwyjibo.example"
}
const identifyingMembers = {
  id: "gen-kwyjibo-1",
  model: MODEL,
  provider: "Kwyjibo",
  system_fingerprint: "fp_kwyjibo",
  service_tier: "kwyjibo",
  x_groq: { id: "req_kwyjibo" },
  openrouter_metadata: { endpoint: "kwyjibo" },
  kv_transfer_params: { remote_host: "kwyjibo.example" },
  cost: Number(COST)
}
const reportedUsage = {
  ...usage(7, 3),
  cost: Number(COST),
  is_byok: true,
  cost_details: { upstream_inference_cost: Number(COST) }
}
const telling = (frame: object, choice: object = {}) => ({
  ...frame,
  ...identifyingMembers,
  ...("choices" in frame && Array.isArray(frame.choices)
    ? {
        choices: frame.choices.map((each) => ({
          ...each,
          native_finish_reason: "kwyjibo",
          provider: PROVIDER,
          ...choice
        }))
      }
    : {})
})
const identifyingCompletion = telling({
  ...completion({ content: [RESPONSE_TEXT], usage: usage(7, 3) }),
  usage: reportedUsage
})
const hi = event(telling(chunk({ role: "assistant", content: RESPONSE_TEXT, provider: PROVIDER, x_host: "kwyjibo" })))

/** Error messages of the upstream. Each contains a text that must stay secret. */
const refusals: ReadonlyArray<string> = [
  `The model '${MODEL}' does not exist or you do not have access to it.`,
  "llama-9-turbo: max_tokens is too large",
  "kwyjibo.example returned 400",
  "See https://docs.kwyjibo.example/errors for more.",
  "Kwyjibo Cloud: your organization org-kwyjibo12345 may not do this.",
  `Incorrect API key provided: ${PROVIDER_KEY}.`,
  `This request costs $${COST}.`,
  "KWYJIBO error",
  "<html><h1>Kwyjibo</h1></html>"
]

const outcomes: ReadonlyArray<readonly [what: string, script: Script]> = [
  ["a whole response", json(identifyingCompletion, 200, headers)],
  [
    "a stream",
    {
      ...script({
        steps: [hi, event(telling(chunk({}, "stop"))), event(telling({ ...usageChunk(reportedUsage) })), done]
      }),
      headers: { "content-type": "text/event-stream", ...headers }
    }
  ],
  ["an HTML page", text("<title>Kwyjibo</title>", "text/html", 200, headers)],
  ["an error with status 200", json({ error: { message: "Kwyjibo broke", code: "kwyjibo" } }, 200, headers)],
  [
    "an error in a stream",
    script({
      steps: [
        hi,
        event({ error: { message: "Kwyjibo broke", code: "kwyjibo", metadata: { provider_name: PROVIDER } } })
      ]
    })
  ],
  ["a stream with an unknown event", script({ steps: [hi, bytes("event: kwyjibo\ndata: kwyjibo\n\n")] })],
  ["a stream that breaks", script({ steps: [hi, cut] })],
  ["a connection that closes without a response", closeImmediately],
  ["a redirect", json({}, 302, { location: "https://kwyjibo.example/", ...headers })],
  ...refusals.flatMap(
    (message): ReadonlyArray<readonly [string, Script]> => [
      [
        `status 400 with the message '${message}'`,
        json({ error: { ...errorBody(message).error, param: "kwyjibo", code: "kwyjibo" } }, 400, headers)
      ],
      [`status 500 with the message '${message}'`, json(errorBody(message), 500, headers)],
      [`status 429 with the message '${message}'`, json(errorBody(message), 429, { ...headers, "retry-after": "7" })]
    ]
  )
]

const ask = async (stream: boolean): Promise<string> => {
  const client = await RawClient.post(proxy.url, "/v1/chat/completions", {
    key: gateway.key,
    body: {
      model: "m",
      messages: [{ role: "user", content: CONVERSATION }],
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {})
    }
  })
  const { body } = await client.whole()
  client.leave()
  return body
}

describe("no client can identify the provider from", () => {
  it.each(outcomes)("%s", async (_, script) => {
    for (const stream of [true, false]) {
      const recorded = proxy.transcripts.length
      gateway.upstream.next(script)
      expect(await ask(stream)).not.toBe("")
      expect(proxy.transcripts).toHaveLength(recorded + 1)
      expect(proxy.leaksOf([...ofTheOperator, new URL(gateway.upstream.baseUrl).host])).toEqual([])
    }
    // Successes between the failures keep the circuit breaker closed.
    gateway.upstream.next(json(identifyingCompletion))
    await ask(false)
  })

  it("a page or a list on the public port", async () => {
    for (const path of [
      "/",
      "/v1/models",
      "/v1/models/m",
      "/v1/models/x",
      "/openapi.json",
      "/docs",
      "/rankings",
      "/api/rankings",
      "/console",
      "/readyz",
      "/healthz",
      "/metrics"
    ]) {
      // The proxy records the bytes of the connection, so a word in a compressed page would not be found.
      const headers = { "x-api-key": gateway.key, "accept-encoding": "identity", connection: "close" }
      const response = await fetch(`${proxy.url}${path}`, { headers })
      const page = await response.text()
      expect(proxy.transcripts.at(-1)).toContain(page)
    }
    expect(proxy.leaksOf(ofTheOperator)).toEqual([])
    expect((await fetch(`${proxy.url}/metrics`)).status).toBe(404)
  })

  it("the message of a refusal", async () => {
    gateway.upstream.next(json(errorBody(`${MODEL}: prompt is too long: 9 tokens > 8 maximum`), 400))
    expect(JSON.parse(await ask(false)).error.message).toBe("m: prompt is too long: 9 tokens > 8 maximum")
    expect(proxy.leaksOf(ofTheOperator)).toEqual([])
  })
})

it("the metrics contain no API key, customer, conversation or upstream model", async () => {
  const read = async () => (await fetch(metricsUrl)).text()
  await vi.waitFor(async () => expect(await read()).toMatch(/^tollgate_ledger_unsettled 0$/m), 30_000)
  const page = await read()
  expect(page).toContain('tollgate_requests_total{protocol="chat",status="200",ending="complete"}')
  expect(page).toContain('ending="broken"')
  expect(page).toMatch(/^tollgate_written_off_usd_total{reason="whole_response"} [0-9.]+$/m)
  const figure = (name: string) => Number(page.match(new RegExp(`^${name} (.+)$`, "m"))?.[1])
  const requests = [...page.matchAll(/^tollgate_requests_total{protocol="chat".*} (\d+)$/gm)]
  expect(figure('tollgate_request_duration_seconds_count{protocol="chat"}')).toBe(
    requests.reduce((sum, [, count]) => sum + Number(count), 0)
  )
  expect(figure('tollgate_time_to_first_token_seconds_count{protocol="chat"}')).toBeGreaterThan(0)
  expect(figure("tollgate_ledger_transactions_total")).toBeGreaterThan(0)
  expect(figure("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0)
  expect(page).toContain(`model="m",provider="${PROVIDER}"`)
  expect(
    leaksIn(page, [
      ...ofTheOperator.filter((word) => word !== PROVIDER),
      gateway.key,
      gateway.customer.email,
      gateway.customer.userId,
      CONVERSATION
    ])
  ).toEqual([])
})

it("the log contains no key, secret or message text", async () => {
  await fetch(`${gateway.url}/v1/models`, { headers: { authorization: "Bearer tg_a_wrong_key_of_no_customer" } })
  const lines = log.join("\n")
  expect(lines).toContain("upstream request failed")
  expect(lines).toContain(PROVIDER)
  const secretPart = gateway.key.split("_")[2] ?? ""
  expect(secretPart).toHaveLength(49)
  expect(
    leaksIn(lines, [
      PROVIDER_KEY,
      gateway.key,
      secretPart,
      PEPPER,
      TEST_JWT_SECRET,
      CONVERSATION,
      "tg_a_wrong_key_of_no_customer",
      RESPONSE_TEXT
    ])
  ).toEqual([])
})
