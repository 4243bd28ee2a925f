/**
 * Tests the model list, the general routes, the OpenAPI document and the keepalives of streams.
 */
import { createHash } from "node:crypto"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawClient } from "../support/RawClient.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { chunk, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import { bytes, done, event, raw, script, signal, until as when } from "../support/upstream/Script.ts"

const messages = [{ role: "user" as const, content: "Say hello." }]

let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  gateway = await TestGateway.start({ settings: { KEEPALIVE_SECONDS: "1" } })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
  const model = (public_name: string, discovery_rank: number, more: object = {}) => ({
    public_name,
    display_name: `The model ${public_name}`,
    author: "Lab",
    discovery_rank,
    price_usd_micro_per_million_tokens: { input: 777_001, cache_read: 777_002, cache_write: 777_003, output: 777_004 },
    routes: [{ provider: "scripted-provider", upstream_model: `upstream of ${public_name}` }],
    ...more
  })
  const catalog = (models: ReadonlyArray<object>) => ({
    providers: [
      {
        name: "scripted-provider",
        base_url: gateway.upstream.baseUrl,
        api_key_env: "PROVIDER_KEY",
        protocols: ["chat", "images"]
      }
    ],
    models: [
      model("m", 0),
      model("zeta", 50),
      model("lab/alpha", 50),
      model("Beta", 50),
      model("below", -1),
      model("first", 100),
      model("hidden", 200, { hidden: true }),
      model("pictures", 0, { kind: "image", capabilities: ["generate"] }),
      ...models
    ]
  })
  await gateway.applyCatalogFile(catalog([model("retired", 300)]))
  await gateway.applyCatalogFile(catalog([]))
})
afterAll(() => gateway.close())

const get = (path: string, init: RequestInit = {}) => fetch(`${gateway.url}${path}`, init)
const withKey = () => ({ headers: { authorization: `Bearer ${gateway.key}` } })

describe("the list of models", () => {
  it("is ordered by discovery rank, highest first, and then by name", async () => {
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id)).toEqual(["first", "Beta", "lab/alpha", "zeta", "m", "pictures", "below"])
  })

  it("shows only the names of models", async () => {
    const list = await (await get("/v1/models", withKey())).json()
    expect(Object.keys(list as object)).toEqual(["object", "data"])
    for (const entry of (list as { readonly data: ReadonlyArray<object> }).data) {
      expect(entry).toEqual({ id: expect.any(String), object: "model" })
    }
  })

  it.each<readonly [what: string, headers: Record<string, string>]>([
    ["without a key", {}],
    ["with a wrong key", { authorization: "Bearer tg_wrong" }],
    ["with two different wrong keys", { authorization: "Bearer tg_wrong", "x-api-key": "tg_other" }]
  ])("is refused %s", async (_, headers) => {
    for (const path of ["/v1/models", "/v1/models/m", "/v1/models/hidden"]) {
      const response = await get(path, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({
        type: "error",
        error: { code: "invalid_api_key" },
        request_id: response.headers.get("x-request-id")
      })
    }
  })

  it("is served to a client with the header x-api-key", async () => {
    const response = await get("/v1/models/?limit=1&after_id=x", { headers: { "x-api-key": gateway.key } })
    expect(response.status).toBe(200)
    expect((await response.json()) as object).toMatchObject({ data: { length: 7 } })
  })
})

describe("one model", () => {
  it.each(["m", "lab/alpha", "Beta"])("can be read by the name %s", async (name) => {
    expect(await client.models.retrieve(name)).toMatchObject({ id: name, object: "model" })
    const unescaped = await get(`/v1/models/${name}`, withKey())
    expect(await unescaped.json()).toEqual({ id: name, object: "model" })
  })

  it.each(["hidden", "retired", "beta", "lab", "%", "m/"])("cannot be read by the name %s", async (name) => {
    await expect(client.models.retrieve(name)).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model"
    })
  })
})

describe("the gateway", () => {
  it("returns 200 for HEAD /", async () => {
    const response = await get("/", { method: "HEAD" })
    expect([response.status, await response.text()]).toEqual([200, ""])
  })

  it("reports that the service is alive and ready", async () => {
    expect(await (await get("/healthz")).json()).toEqual({ status: "ok" })
    expect(await (await get("/readyz")).json()).toEqual({ status: "ready" })
  })

  it("allows CORS requests with the headers of the official clients", async () => {
    const asked = "authorization,content-type,x-stainless-lang,x-stainless-retry-count,anthropic-version"
    for (const path of ["/v1/chat/completions", "/v1/models"]) {
      const response = await get(path, {
        method: "OPTIONS",
        headers: {
          origin: "https://page.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": asked
        }
      })
      expect(response.status).toBe(204)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-allow-headers")).toBe(asked)
      expect(response.headers.get("access-control-allow-methods")).toContain("POST")
    }
    const refused = await get("/v1/models")
    expect(refused.headers.get("access-control-allow-origin")).toBe("*")
    expect(refused.headers.get("access-control-expose-headers")).toBe("*")
  })

  it("serves the documentation without references to other hosts in markup and styles", async () => {
    const response = await get("/docs")
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toContain("text/html")
    const page = await response.text()
    const markup = page
      .replace(/(<script[^>]*>)[\s\S]*?<\/script>/g, "$1")
      .replace(/(<style[^>]*>)[\s\S]*?<\/style>/g, "$1")
    expect(markup).not.toMatch(/\b(?:src|href|action|data)\s*=\s*["']?(?:https?:)?\/\//i)
    for (const [, style = ""] of page.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)) {
      expect(style).not.toMatch(/@import|url\(\s*["']?(?:https?:)?\/\//i)
    }
    expect(page).toContain("/v1/chat/completions")
  })

  it("sends a Content-Security-Policy with the documentation", async () => {
    const policyOf = async (path: string) => (await get(path)).headers.get("content-security-policy") ?? ""
    const [page, policy] = [await (await get("/docs")).text(), await policyOf("/docs?x=1")]
    const hashes = [...policy.matchAll(/'sha256-([^']+)'/g)].map(([, hash]) => hash)
    const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script = ""]) => script)
    expect(scripts).toHaveLength(1)
    const styles = [...page.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style = ""]) => style)
    expect(hashes).toEqual([...scripts, ...styles].map((text) => createHash("sha256").update(text).digest("base64")))
    expect(policy).toMatch(/^default-src 'none'; script-src '[^' ]+'; .*frame-ancestors 'none'$/)
    expect(await policyOf("/v1/models")).toBe("")
  })

  it.each([
    ["/chat/completions", "/v1/chat/completions"],
    ["/v1/v1/chat/completions", "/v1/chat/completions"],
    ["/models", "/v1/models"]
  ])("returns 404 for the path %s and names the path %s", async (path, meant) => {
    const response = await get(path, { method: "POST", body: "{}" })
    expect(response.status).toBe(404)
    const { error } = (await response.json()) as { readonly error: { readonly code: string; readonly message: string } }
    expect(error.code).toBe("not_found")
    expect(error.message).toContain(meant)
  })

  it.each([
    ["GET", "/v1/chat/completions", ["POST"]],
    ["DELETE", "/v1/models", ["GET", "HEAD"]],
    ["PUT", "/healthz", ["GET", "HEAD"]]
  ])("returns 405 with the allowed methods for %s %s", async (method, path, allowed) => {
    const response = await get(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")?.split(", ")).toEqual(allowed)
    expect(await response.json()).toMatchObject({ error: { code: "method_not_allowed" } })
  })
})

interface Specification {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string }>
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

describe("the OpenAPI document", () => {
  const specification = async () => (await (await get("/openapi.json")).json()) as Specification

  it("has no unresolved references", async () => {
    const whole = await specification()
    expect(whole.openapi).toMatch(/^3\.[01]\.\d+$/)
    expect(whole.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    const references = [...JSON.stringify(whole).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path)
    expect(references.length).toBeGreaterThan(0)
    for (const path of references) {
      const target = path.split("/").reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], whole)
      expect(target, path).toBeDefined()
    }
    const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation }))
    )
    const names = operations.map(({ operationId }) => operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const { path, parameters = [], responses } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.filter((each) => each.in === "path").map(({ name }) => name)).toEqual(named)
      expect(Object.keys(responses).every((status) => /^[1-5]\d\d$/.test(status))).toBe(true)
      expect(Object.values(responses).every(({ description }) => description.length > 0)).toBe(true)
    }
  })

  it("contains the health checks, the chat route and the model list", async () => {
    const { paths } = await specification()
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(["/", "/healthz", "/readyz", "/v1/chat/completions", "/v1/models", "/v1/models/{model}"])
    )
    expect(JSON.stringify(paths)).not.toContain("DecodeError")
  })

  it("contains only routes that the gateway serves", async () => {
    const { paths } = await specification()
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
        const response = await get(path.replace(/\{\w+\}/g, "m"), { method })
        expect(response.status, `${method} ${path} is served`).not.toBe(405)
        expect(await response.text(), `${method} ${path} is served`).not.toContain(`There is no ${method} `)
      }
    }
  })

  it("states the status and the code of each error of a chat request", async () => {
    const { paths } = await specification()
    const told = Object.entries(paths["/v1/chat/completions"]?.post?.responses ?? {}).flatMap(([status, response]) =>
      [...response.description.matchAll(/`([a-z_]+)`:/g)].map(([, code]) => `${status} ${code}`)
    )
    expect(told).toEqual([
      "400 invalid_request",
      "401 invalid_api_key",
      "402 insufficient_balance",
      "402 key_budget_exceeded",
      "404 model_not_found",
      "413 request_too_large",
      "429 rate_limited",
      "429 technical_limit",
      "500 internal_error",
      "502 upstream_error",
      "503 overloaded",
      "503 circuit_open"
    ])
  })
})

describe("a silent stream", () => {
  it("contains keepalives before and between tokens", async () => {
    const headed = signal()
    const half = signal()
    const rest = signal()
    const hello = `data: ${JSON.stringify(chunk({ content: " hello" }))}\n\n`
    gateway.upstream.next(
      script({
        status: "none",
        steps: [
          when(headed),
          raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"),
          raw(hello + hello.slice(0, 40)),
          when(half),
          raw(hello.slice(40)),
          when(rest),
          raw(`data: ${JSON.stringify(chunk({}, "stop"))}\n\n`),
          raw(`data: ${JSON.stringify(usageChunk(usage(7, 2)))}\n\ndata: [DONE]\n\n`)
        ]
      })
    )
    const waiting = await RawClient.post(gateway.url, "/v1/chat/completions", {
      key: gateway.key,
      body: { model: "m", messages, stream: true }
    })
    const keepalives = (body: string) => body.split(": keepalive\n\n").length - 1
    const head = await waiting.until(({ body }) => keepalives(body) === 1)
    expect(head).toMatchObject({
      status: 200,
      body: ": keepalive\n\n",
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no"
      }
    })
    headed.fire()
    await waiting.until(({ body }) => body.includes(" hello") && keepalives(body) === 2)
    half.fire()
    await waiting.until(({ body }) => body.split(" hello").length === 3)
    rest.fire()
    const { body } = await waiting.whole()
    const frames = body.split("\n\n")
    expect(frames.pop()).toBe("")
    for (const frame of frames) expect(frame).toMatch(/^(: keepalive|data: (\{.*\}|\[DONE\]))$/)
    const settlement = await gateway.settlementOf(head.headers["x-request-id"] ?? "")
    expect(settlement).toMatchObject({ ending: "complete", charged_input: 7n, charged_output: 2n })
  })

  it("can be read by the official client", async () => {
    const alive = signal()
    gateway.upstream.next(
      script({
        steps: [
          when(alive),
          bytes(": thinking\n\n"),
          event(chunk({ content: " hello" })),
          event(chunk({}, "stop")),
          done
        ]
      })
    )
    const before = gateway.counters.responseBytes
    const { data, response } = await client.chat.completions
      .create({ model: "m", messages, stream: true })
      .withResponse()
    expect(response.status).toBe(200)
    await until(() => gateway.counters.responseBytes > before)
    alive.fire()
    let text = ""
    for await (const { choices } of data) text += choices[0]?.delta.content ?? ""
    expect(text).toBe(" hello")
  })
})
