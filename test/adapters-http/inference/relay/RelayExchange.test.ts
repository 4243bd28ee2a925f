import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { none } from "@tollgate/domain/ledger/TokenUsage"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { chatFrames, completion, errorBody, usage } from "../../../support/upstream/ChatWire.ts"
import { json, silence, stream } from "../../../support/upstream/Script.ts"
import { FakeUpstreams } from "./FakeUpstreams.ts"
import { chatRequest, hello, helloStream, post, RawClient } from "./RawClient.ts"
import { catalogOf, closeGateways, eventually, KEY, noResources, startGateway } from "./TestGateway.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const codeOf = async (response: Response): Promise<string> => {
  const body = (await response.json()) as { readonly error: { readonly code: string } }
  return `${response.status} ${body.error.code}`
}

const fakeUpstreams = () => {
  const upstreams = new FakeUpstreams()
  return { upstreams, options: { catalog: catalogOf({}), upstreams: upstreams.layer } }
}

describe("a request", () => {
  it("is checked in this order: API key, body size, format, model, balance, provider capacity", async () => {
    const { upstreams, options } = fakeUpstreams()
    const gateway = await startGateway({ ...options, bodyBytes: 1_000 })
    const { url, journal } = gateway
    const refused = async (body: unknown, headers: Record<string, string> = {}) =>
      codeOf(await post(url, body, headers))
    const large = JSON.stringify(hello({ pad: "x".repeat(2_000) }))
    journal.refusal = new InsufficientBalance()
    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 3 }))

    expect(await refused(large, { authorization: "Bearer wrong" })).toBe("401 invalid_api_key")
    expect(await refused(large, { "x-api-key": "another" })).toBe("401 invalid_api_key")
    expect(await refused(`${large}}`)).toBe("413 request_too_large")
    expect(await refused("{not json")).toBe("400 invalid_request")
    expect(await refused({ model: "unknown" })).toBe("400 invalid_request")
    expect(await refused(hello({ model: "unknown" }))).toBe("404 model_not_found")
    expect(await refused(hello())).toBe("402 insufficient_balance")
    journal.refusal = undefined
    expect(await refused(hello())).toBe("503 overloaded")
    expect(upstreams.exchanges).toHaveLength(0)
    expect(journal.settled.map(({ ending }) => ending)).toEqual(["failed"])
  })

  it("without an API key is counted with status 401", async () => {
    const gateway = await startGateway(fakeUpstreams().options)
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(gateway.port)))
    for (const client of clients) {
      client.send("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n{")
    }
    for (const client of clients) expect((await client.response()).status).toBe(401)
    expect(gateway.counters.finishedRequests).toEqual([
      { protocol: "chat", status: 401, ending: "refused", count: clients.length }
    ])
    for (const client of clients) client.disconnect()
  })

  it("without an API key is refused before its body has arrived", async () => {
    const gateway = await startGateway(fakeUpstreams().options)
    const client = await RawClient.connect(gateway.port)
    client.send("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n{")
    const { status, headers } = await client.response()
    expect([status, headers.get("www-authenticate"), headers.get("connection")]).toEqual([401, "Bearer", "close"])
    client.disconnect()
  })

  it("gets 100 Continue only after its API key was accepted", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(json(completion({ usage: usage(1, 1) })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const body = JSON.stringify(hello())
    const head = chatRequest("", ["expect: 100-continue"]).replace(
      "content-length: 0",
      `content-length: ${body.length}`
    )

    const unauthenticated = await RawClient.connect(gateway.port)
    expect((await unauthenticated.send(head).response()).status).toBe(401)
    unauthenticated.disconnect()

    const authenticated = await RawClient.connect(gateway.port)
    authenticated.send(head.replace("expect:", `x-api-key: ${KEY}\r\nexpect:`))
    expect((await authenticated.response()).status).toBe(100)
    expect((await authenticated.send(body).response()).status).toBe(200)
    authenticated.disconnect()
    await upstream.close()
  })
})

describe("an API key", () => {
  it.each([
    [
      "is accepted if authorization and x-api-key both contain it",
      [`authorization: Bearer ${KEY}`, `x-api-key: ${KEY}`],
      404
    ],
    ["is accepted if its header is repeated with the same value", [`x-api-key: ${KEY}`, `x-api-key: ${KEY}`], 404],
    ["is refused if its header is repeated with another value", [`x-api-key: ${KEY}`, "x-api-key: other"], 401],
    [
      "is refused if a second authorization header differs",
      [`authorization: Bearer ${KEY}`, "authorization: Bearer b"],
      401
    ],
    [
      "is refused if the authorization header has the Basic scheme",
      ["authorization: Basic YTpi", `x-api-key: ${KEY}`],
      401
    ],
    ["is accepted if the authorization header is empty", ["authorization:", `x-api-key: ${KEY}`], 404]
  ])("%s", async (_, headers, status) => {
    const gateway = await startGateway(fakeUpstreams().options)
    const client = await RawClient.connect(gateway.port)
    const response = await client.sendChat(hello({ model: "unknown" }), headers).response()
    expect(response.status).toBe(status)
    client.disconnect()
  })
})

describe("a failure", () => {
  it("in the gateway is logged with the request id of the response", async () => {
    const { upstreams, options } = fakeUpstreams()
    const catalog = catalogOf({})
    // The base URL is read only when the text of a refusal is redacted.
    const baseUrl = () => {
      throw new Error("a defect")
    }
    for (const provider of catalog.providers.values()) Object.defineProperty(provider, "baseUrl", { get: baseUrl })
    const gateway = await startGateway({ ...options, catalog })
    const pending = post(gateway.url, hello())
    ;(await upstreams.next()).head(400).end()
    const response = await pending
    expect(await codeOf(response)).toBe("500 internal_error")
    await eventually(() => gateway.logged.length > 0, "the log line")
    expect(gateway.logged.join()).toContain(response.headers.get("x-request-id") ?? "no id")
  })

  it.each(["/v1/chat/completions", "/v1/messages/count_tokens"])(
    "of the database is reported as 503 overloaded on %s",
    async (path) => {
      const gateway = await startGateway(fakeUpstreams().options)
      gateway.journal.beforeFunds = Effect.die(new DatabaseUnavailable({ cause: "gone" }))
      // The funds of the customer are read before a large body.
      const body = JSON.stringify(hello({ pad: "x".repeat(1024 * 1024) }))
      const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" }
      const response = await fetch(`${gateway.url}${path}`, { method: "POST", headers, body })
      expect(response.headers.get("retry-after")).toBe("1")
      expect(await codeOf(response)).toBe("503 overloaded")
      await eventually(() => gateway.logged.length > 0, "the log line")
      expect(gateway.logged.join()).toContain("a request failed because the database is unavailable")
      expect(gateway.logged.join()).toContain(response.headers.get("x-request-id") ?? "no id")
    }
  )

  it("in the token counter causes a stream to be charged by the low estimates of its checkpoint", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(stream(chatFrames({ content: ["one ", "two ", "three"] })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    gateway.journal.beforeCounting = Effect.die("the vocabulary cannot be loaded")
    await (await post(gateway.url, helloStream)).text()
    await eventually(() => gateway.journal.settled.length > 0, "the settlement")
    const [settled] = gateway.journal.settled
    expect([settled?.ending, settled?.charge.charged.output, settled?.charge.source]).toEqual(["complete", 3n, "local"])
    await upstream.close()
  })

  it("in the token counter fails a whole response without a charge", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(json(completion({ content: ["hello"] })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    gateway.journal.beforeCounting = Effect.die("the vocabulary cannot be loaded")
    expect(await codeOf(await post(gateway.url, hello()))).toBe("500 internal_error")
    await eventually(() => gateway.journal.settled.length > 0, "the settlement")
    const [settled] = gateway.journal.settled
    expect([settled?.ending, settled?.charge.source, settled?.charge.charged]).toEqual(["failed", "none", none])
    await upstream.close()
  })

  it("at a provider is reported to the client without details", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(json(errorBody("the accounting of Secret Corp is down"), 500))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const response = await post(gateway.url, hello())
    const text = await response.text()
    expect([response.status, text.includes("Secret"), text.includes("provider-0")]).toEqual([502, false, false])
    await eventually(() => gateway.logged.length > 0, "the log line")
    expect(gateway.logged.join()).toContain("provider-0")
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["failed"])
    await upstream.close()
  })
})

describe("a client that disconnects", () => {
  it("before a whole response arrives is charged nothing", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(silence)
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    const request = await upstream.received()
    client.disconnect()
    await request.left
    await eventually(() => gateway.journal.settled.length === 1, "the settlement")
    const [settled] = gateway.journal.settled
    expect([settled?.ending, settled?.charge.charged]).toEqual(["client_gone", none])
    await upstream.close()
  })

  it("is counted with status 499", async () => {
    const upstream = await ScriptedUpstream.start()
    upstream.next(silence, json(completion({ usage: usage(1, 1) })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await upstream.received()
    client.disconnect()
    await eventually(() => gateway.counters.openRequests === 0, "the end of the request")
    await post(gateway.url, hello())
    await post(gateway.url, hello({ model: "unknown" }))
    await eventually(() => gateway.counters.openRequests === 0, "the end of all requests")
    expect(gateway.counters.finishedRequests).toEqual([
      { protocol: "chat", status: 499, ending: "left", count: 1 },
      { protocol: "chat", status: 200, ending: "complete", count: 1 },
      { protocol: "chat", status: 404, ending: "refused", count: 1 }
    ])
    await upstream.close()
  })
})
