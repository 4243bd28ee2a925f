import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { chunk, completion, usage } from "../../support/upstream/ChatWire.ts"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { hello, helloStream, RawClient } from "../inference/relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  KEY,
  noResources,
  startGateway,
  type TestGateway
} from "../inference/relay/TestGateway.ts"

let gateway: TestGateway
let upstreams: FakeUpstreams
beforeEach(async () => {
  upstreams = new FakeUpstreams()
  gateway = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer, uploadSeconds: 0.3 })
})
afterEach(async () => {
  vi.useRealTimers()
  expect(await closeGateways()).toEqual(noResources())
})

const send = async (bytes: string) => {
  const client = await RawClient.connect(gateway.port)
  const response = await client.send(bytes).response()
  client.disconnect()
  return response
}
const get = (path: string, method = "GET", ...headers: ReadonlyArray<string>) =>
  send(
    [`${method} ${path} HTTP/1.1`, "host: x", "connection: close", `x-api-key: ${KEY}`, ...headers, "", ""].join("\r\n")
  )

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("a response", () => {
  const head = (line: string, ...headers: ReadonlyArray<string>) => [line, ...headers, "", ""].join("\r\n")
  const kinds: ReadonlyArray<readonly [string, number, string]> = [
    ["a GET request to the root path", 200, head("GET / HTTP/1.1", "host: x")],
    ["a HEAD request to the root path", 200, head("HEAD / HTTP/1.1", "host: x", "connection: close")],
    ["a GET request for the list of models", 200, head("GET /v1/models HTTP/1.1", "host: x", `x-api-key: ${KEY}`)],
    [
      "a request that the relay refuses",
      401,
      head("POST /v1/chat/completions HTTP/1.1", "host: x", "content-length: 0")
    ],
    ["a request that the router refuses", 401, head("GET /v1/models HTTP/1.1", "host: x")],
    ["a preflight request", 204, head("OPTIONS /v1/messages HTTP/1.1", "host: x", "connection: close")],
    ["a request to an unknown path", 404, head("GET /nowhere HTTP/1.1", "host: x")],
    ["a request with a wrong method", 405, head("DELETE /v1/models HTTP/1.1", "host: x")],
    ["a request without a Host header", 400, head("GET / HTTP/1.1")],
    ["bytes that are not HTTP", 400, "HELLO\r\n\r\n"],
    ["a request with an unknown expectation", 417, head("GET / HTTP/1.1", "host: x", "expect: miracles")],
    [
      "a request with headers that are too large",
      431,
      head("GET / HTTP/1.1", "host: x", `x-large: ${"x".repeat(17_000)}`)
    ],
    ["a request with headers that never end", 408, "GET / HTTP/1.1\r\nhost: x\r\n"]
  ]

  it.each(kinds)("to %s has the common headers", async (_, status, bytes) => {
    const response = await send(bytes)
    const { headers } = response
    expect(response.status).toBe(status)
    expect(headers.get("x-request-id")).toMatch(UUID_V7)
    expect(headers.get("request-id")).toBe(headers.get("x-request-id"))
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("cache-control")).toBe("no-store")
    expect([headers.has("server"), headers.has("x-powered-by")]).toEqual([false, false])
    if (status >= 400) {
      expect(headers.get("content-type")).toContain("application/json")
      const body = JSON.parse(response.body)
      expect(body.request_id ?? body.error.request_id).toBe(headers.get("x-request-id"))
      expect([typeof body.error.code, typeof body.error.message]).toEqual(["string", "string"])
    }
  })

  it("has the server's request id, not the client's", async () => {
    const { headers } = await get("/", "GET", "x-request-id: mine", "request-id: mine")
    expect(headers.get("x-request-id")).toMatch(UUID_V7)
  })

  it("can be read by a web page from another origin", async () => {
    const { headers } = await get("/v1/models")
    expect(headers.get("access-control-allow-origin")).toBe("*")
    expect(headers.get("access-control-expose-headers")).toBe("*")
    // Browsers treat `*` as a wildcard only if requests with cookies are not allowed.
    expect(headers.has("access-control-allow-credentials")).toBe(false)
  })
})

describe("the router", () => {
  it("relays a protocol's path with a trailing slash or a query", async () => {
    for (const path of ["/v1/chat/completions", "/v1/chat/completions/", "/v1/chat/completions?beta=true"]) {
      const body = JSON.stringify(hello())
      const client = await RawClient.connect(gateway.port)
      client.send(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      )
      const provider = (await upstreams.next()).head(200)
      provider.data(JSON.stringify(completion({ usage: usage(1, 1) })))
      provider.end()
      expect((await client.response()).status).toBe(200)
      client.disconnect()
    }
  })

  it.each([
    ["/chat/completions", "/v1/chat/completions"],
    ["/v1/v1/chat/completions", "/v1/chat/completions"],
    ["//v1/chat/completions", "/v1/chat/completions"],
    ["/models", "/v1/models"],
    ["/v1/healthz", "/healthz"]
  ])("returns 404 for %s and suggests %s", async (path, suggested) => {
    const { status, body } = await get(path, "POST", "content-length: 0")
    const { type, error } = JSON.parse(body)
    expect([status, type, error.code]).toEqual([404, suggested.startsWith("/v1") ? "error" : type, "not_found"])
    expect(error.message).toContain(`Did you mean ${suggested}?`)
  })

  it("does not relay a percent-encoded path", async () => {
    const { status, body } = await get("/v1/ch%61t/completions", "POST", "content-length: 0")
    expect([status, JSON.parse(body).error.code]).toEqual([404, "not_found"])
  })

  it.each(["/V1/models", "//v1/models", "/healthz//", "/v1/mod%65ls", "/v1/models;a=b", "/v1/models#a"])(
    "serves nothing at %s, another spelling of the path of a route",
    async (path) => {
      const { status, body } = await get(path)
      expect([status, JSON.parse(body).error.code]).toEqual([404, "not_found"])
    }
  )

  it.each(["/v1/models/a;b", "/v1/models/a%3Bb", "/v1/models/a#b", "/v1/models/a%23b"])(
    "reads the whole parameter of the path %s",
    async (path) => {
      const { body } = await get(path)
      expect(JSON.parse(body).error).toMatchObject({
        code: "model_not_found",
        message: expect.stringMatching(/'a[;#]b'/)
      })
    }
  )

  it("returns 404 with a short body for a long unknown path", async () => {
    const { status, body } = await get(`/${"x".repeat(3_000)}`)
    expect([status, JSON.parse(body).error.code]).toEqual([404, "not_found"])
    expect(body.length).toBeLessThan(500)
  })

  it.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["POST", "/v1/models", "GET, HEAD"],
    ["PUT", "/v1/models/m", "GET, HEAD"],
    ["POST", "/docs", "GET, HEAD"]
  ])("returns 405 for the method %s on the path %s", async (method, path, allow) => {
    const { status, headers, body } = await get(path, method, "content-length: 0")
    expect([status, headers.get("allow"), JSON.parse(body).error.code]).toEqual([405, allow, "method_not_allowed"])
  })

  it("allows the headers that a preflight request names", async () => {
    for (const path of ["/v1/chat/completions", "/v1/messages", "/nowhere"]) {
      const { status, headers } = await send(
        `OPTIONS ${path} HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\naccess-control-request-method: POST\r\n` +
          "access-control-request-headers: authorization,x-stainless-os\r\nconnection: close\r\n\r\n"
      )
      expect([status, headers.get("access-control-allow-headers")]).toEqual([204, "authorization,x-stainless-os"])
      expect(headers.get("access-control-allow-methods")).toContain("POST")
    }
  })

  it("sends no CORS headers if no origin is allowed", async () => {
    const closed = await startGateway({ catalog: catalogOf({}), corsAllowOrigin: undefined })
    const response = await fetch(`${closed.url}/v1/models`, { method: "OPTIONS" })
    expect(response.status).toBe(405)
    const listed = await fetch(`${closed.url}/v1/models`, {
      headers: { "x-api-key": KEY, origin: "https://a.example" }
    })
    expect(listed.status).toBe(200)
    for (const { headers } of [response, listed]) expect([...headers.keys()].join()).not.toContain("access-control")
  })
})

describe("readiness", () => {
  it("depends on the database", async () => {
    expect((await get("/readyz")).status).toBe(200)
    gateway.journal.reachable = false
    const { status, body } = await get("/readyz")
    expect([status, JSON.parse(body).reason]).toEqual([503, "database_unreachable"])
    expect((await get("/healthz")).status).toBe(200)
  })
})

describe("an invalid request", () => {
  it("closes only its own connection", async () => {
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    const provider = (await upstreams.next()).stream()
    provider.event(chunk({ content: "a" }))
    await client.untilText('"a"')
    client.send("\u0000\u0001 garbage \r\n\r\n")
    await client.untilClosed()
    expect(client.text).not.toContain("HTTP/1.1 400")
    expect((await get("/healthz")).status).toBe(200)
  })

  it("is refused if it has both content-length and transfer-encoding", async () => {
    const { status } = await send(
      "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    expect(status).toBe(400)
  })
})

describe("a request with an invalid head", () => {
  it("gets the error format of its path", async () => {
    const errorOf = async (target: string) =>
      JSON.parse((await send(`GET ${target} HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n`)).body).error
    for (const origin of ["", "http://x"]) {
      expect(await errorOf(`${origin}/v1/models`)).toHaveProperty("type")
      expect(await errorOf(`${origin}/api/rankings`)).not.toHaveProperty("type")
    }
  })
})

describe("a login", () => {
  it("is refused before its body arrives if the hashing queue is full", async () => {
    const requested: Array<string> = []
    const full = await startGateway({
      catalog: catalogOf({}),
      passwordHasher: {
        refusalFor: (queue, client) => {
          requested.push(`${queue} ${client}`)
          return new RateLimited({ retryAfterSeconds: 1 })
        },
        enter: () => Effect.die("not called"),
        hash: () => Effect.die("not called"),
        verify: () => Effect.die("not called")
      }
    })
    const client = await RawClient.connect(full.port)
    const head = (path: string) => `POST /api/reseller/auth/${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n`
    client.send(head("login"))
    const { status, headers, body } = await client.response()
    expect([status, headers.get("retry-after"), headers.get("connection")]).toEqual([429, "1", "keep-alive"])
    expect(JSON.parse(body).error).toMatchObject({ code: "rate_limited", request_id: headers.get("x-request-id") })
    client.send(`{}${head("signup")}{}GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    await client.untilClosed()
    expect(client.text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 429", "HTTP/1.1 200"])
    expect(requested).toEqual(["login 127.0.0.1", "signup 127.0.0.1"])
  })

  it("is refused if earlier requests will fill the hashing queue", async () => {
    const expectedBefore: Array<number> = []
    const gateway = await startGateway({
      catalog: catalogOf({}),
      passwordHasher: {
        refusalFor: (_queue, _client, expected) => {
          expectedBefore.push(expected)
          return expected < 2 ? undefined : new RateLimited({ retryAfterSeconds: 1 })
        },
        enter: () => Effect.die("not called"),
        hash: () => Effect.die("not called"),
        verify: () => Effect.die("not called")
      }
    })
    const head = `POST /api/reseller/auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n`
    const client = await RawClient.connect(gateway.port)
    // The clock stands still, so all requests of one call arrive in the same interval.
    vi.useFakeTimers({ toFake: ["performance"] })
    const statuses = async () => {
      client.send(`${head}{}`.repeat(4))
      const responses = [
        await client.response(),
        await client.response(),
        await client.response(),
        await client.response()
      ]
      return responses.map(({ status }) => status)
    }
    // The handler refuses the first two, because the body has no email.
    expect(await statuses()).toEqual([422, 422, 429, 429])
    vi.advanceTimersByTime(100)
    expect(await statuses()).toEqual([422, 422, 429, 429])
    expect(expectedBefore).toEqual([0, 1, 2, 2, 0, 1, 2, 2])
  })
})
