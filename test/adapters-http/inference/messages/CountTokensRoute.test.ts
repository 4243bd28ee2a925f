import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { FakeUpstreams } from "../relay/FakeUpstreams.ts"
import { RawClient } from "../relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  noResources,
  startGateway,
  type TestGateway,
  type TestGatewayOptions
} from "../relay/TestGateway.ts"

const request = { model: "m", messages: [{ role: "user", content: "hi" }] }
/** One token for each character of the role and the content, and 6 tokens for the message. */
const ESTIMATED = "userhi".length + 6

let upstreams: FakeUpstreams
let gateway: TestGateway
const start = (parts: Partial<TestGatewayOptions> = {}) =>
  startGateway({
    catalog: catalogOf({ protocols: ["messages"] }),
    upstreams: upstreams.layer,
    ...parts
  })
beforeEach(async () => {
  upstreams = new FakeUpstreams()
  gateway = await start()
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const post = (body: unknown = request, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/v1/messages/count_tokens?beta=true`, {
    method: "POST",
    headers: { "x-api-key": KEY, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
const count = async (pending: Promise<Response>) => (await pending).json()

describe("a token count", () => {
  it("is requested from the provider with the upstream model", async () => {
    const body = `{"messages":[{"role":"user","content":"\\u0068i"}], "model":"m" ,"x":1e2}`
    const pending = post(body, { "anthropic-version": "2026-10-21", "anthropic-beta": "a,b" })
    const exchange = await upstreams.next()
    expect(exchange.request).toMatchObject({
      path: "/messages/count_tokens",
      headers: { "anthropic-version": "2026-10-21", "anthropic-beta": "a,b", accept: "application/json" }
    })
    expect(Buffer.from(exchange.request.body).toString()).toBe(body.replace('"m"', '"m-0"'))
    exchange.head(200).data('{"input_tokens":2095,"provider":"secret"}')
    exchange.end()
    const response = await pending
    expect(await response.json()).toEqual({ input_tokens: 2095 })
    expect(response.headers.get("x-request-id")).toBe(response.headers.get("request-id"))
  })

  it.each([
    ["returns status 404", 404, '{"type":"error","error":{"type":"not_found_error","message":"x"}}'],
    ["returns status 500", 500, "oops"],
    ["returns another object", 200, '{"tokens":5}'],
    ["returns a body that is not JSON", 200, "<html>"],
    ["returns a body that is too large", 200, `{"input_tokens":5,"x":"${"x".repeat(100_000)}"}`]
  ])("is estimated if the provider %s", async (_, status, body) => {
    const pending = post()
    const exchange = await upstreams.next()
    exchange.head(status).data(body)
    exchange.end()
    expect(await count(pending)).toEqual({ input_tokens: ESTIMATED })
    expect(exchange.verdict).toBe("undecided")
    expect(gateway.logged).toEqual([])
  })

  it("is estimated if no provider returns a count", async () => {
    const pending = post()
    ;(await upstreams.next()).head(200).events.onBroken("reset")
    expect(await count(pending)).toEqual({ input_tokens: ESTIMATED })

    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 1 }))
    expect(await count(post())).toEqual({ input_tokens: ESTIMATED })

    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    expect(await count(post())).toEqual({ input_tokens: ESTIMATED })
    expect(upstreams.exchanges).toHaveLength(1)
  })

  it("comes from the next provider if the first returns none", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["messages"] }, { protocols: ["messages"] }) })
    const pending = post()
    ;(await upstreams.next()).head(404).end()
    const second = await upstreams.next()
    second.head(200).data('{"input_tokens":7}')
    second.end()
    expect(await count(pending)).toEqual({ input_tokens: 7 })
  })

  it("covers the whole of a very long prompt", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    const content = "x".repeat(999_996)
    expect(await count(post({ ...request, messages: [{ role: "user", content }] }))).toEqual({
      input_tokens: 1_000_006
    })
  })

  it("creates no hold", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    await post()
    expect([gateway.journal.admitted, gateway.journal.settled]).toEqual([[], []])
    expect(gateway.counters.finishedRequests).toEqual([])
  })

  it("is estimated while 16 other counts are open at the provider", async () => {
    let counted = 0
    const counts = Promise.all(
      Array.from({ length: 20 }, async () => {
        const result = await count(post())
        counted += 1
        return result
      })
    )
    await eventually(() => upstreams.exchanges.length === 16 && counted === 4, "four estimates and sixteen open counts")
    for (const exchange of upstreams.exchanges) exchange.head(200).end()
    expect(await counts).toEqual(Array.from({ length: 20 }, () => ({ input_tokens: ESTIMATED })))
    expect(upstreams.exchanges).toHaveLength(16)
  })
})

describe("a request for a token count", () => {
  it("is checked in this order: API key, body size, format, model", async () => {
    gateway = await start({ bodyBytes: 1_000 })
    const refused = async (body: unknown, headers: Record<string, string> = {}) => {
      const response = await post(body, headers)
      const { type, error, request_id } = (await response.json()) as {
        readonly type: string
        readonly error: { readonly type: string; readonly code: string }
        readonly request_id: string
      }
      expect([type, request_id]).toEqual(["error", response.headers.get("request-id")])
      return `${response.status} ${error.code} ${error.type}`
    }
    const large = JSON.stringify({ model: "unknown", messages: [], pad: "x".repeat(2_000) })
    expect(await refused(large, { "x-api-key": "wrong" })).toBe("401 invalid_api_key authentication_error")
    expect(await refused(large, { authorization: "Bearer other" })).toBe("401 invalid_api_key authentication_error")
    expect(await refused(large)).toBe("413 request_too_large invalid_request_error")
    expect(await refused({ model: "unknown", messages: [] })).toBe("400 invalid_request invalid_request_error")
    expect(await refused({ ...request, model: "unknown" })).toBe("404 model_not_found not_found_error")
    expect(upstreams.exchanges).toEqual([])
  })

  it("is aborted at the provider when the client disconnects", async () => {
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(request)
    client.send(
      `POST /v1/messages/count_tokens HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    const exchange = await upstreams.next()
    client.disconnect()
    await eventually(() => exchange.verdict === "undecided", "the end of the request to the provider")
    await eventually(() => gateway.counters.openRequests === 0, "the end of the request")
  })

  it("gets status 503 if the server stops", async () => {
    gateway = await start({ drainSeconds: 0 })
    const pending = post()
    await upstreams.next()
    await gateway.close()
    expect((await pending).status).toBe(503)
  })
})
