import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { FakeUpstreams } from "../relay/FakeUpstreams.ts"
import { RawClient } from "../relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  nothingLeft,
  startGateway,
  type TestGateway,
  type TestGatewayOptions
} from "../relay/TestGateway.ts"

const ask = { model: "m", messages: [{ role: "user", content: "hi" }] }
/** One token a character, and what frames a message. */
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
  expect(await closeGateways()).toEqual(nothingLeft())
})

const post = (body: unknown = ask, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/v1/messages/count_tokens?beta=true`, {
    method: "POST",
    headers: { "x-api-key": KEY, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
const count = async (answering: Promise<Response>) => (await answering).json()

describe("the count of a prompt's tokens", () => {
  it("is the supplier's, asked for under its name of the model, and nothing else of what it says", async () => {
    const body = `{"messages":[{"role":"user","content":"\\u0068i"}], "model":"m" ,"x":1e2}`
    const answering = post(body, { "anthropic-version": "2026-10-21", "anthropic-beta": "a,b" })
    const exchange = await upstreams.next()
    expect(exchange.request).toMatchObject({
      path: "/messages/count_tokens",
      headers: { "anthropic-version": "2026-10-21", "anthropic-beta": "a,b", accept: "application/json" }
    })
    expect(Buffer.from(exchange.request.body).toString()).toBe(body.replace('"m"', '"m-0"'))
    exchange.head(200).data('{"input_tokens":2095,"provider":"secret"}')
    exchange.end()
    const response = await answering
    expect(await response.json()).toEqual({ input_tokens: 2095 })
    expect(response.headers.get("x-request-id")).toBe(response.headers.get("request-id"))
  })

  it.each([
    ["knows no such route", 404, '{"type":"error","error":{"type":"not_found_error","message":"x"}}'],
    ["fails", 500, "oops"],
    ["says something else", 200, '{"tokens":5}'],
    ["says no JSON", 200, "<html>"],
    ["says too much", 200, `{"input_tokens":5,"x":"${"x".repeat(100_000)}"}`]
  ])("is estimated when the supplier %s, and it is not taken off for that", async (_, status, body) => {
    const answering = post()
    const exchange = await upstreams.next()
    exchange.head(status).data(body)
    exchange.end()
    expect(await count(answering)).toEqual({ input_tokens: ESTIMATED })
    expect(exchange.verdict).toBe("undecided")
    expect(gateway.logged).toEqual([])
  })

  it("is estimated when the supplier breaks off, is full, or does not speak messages", async () => {
    const answering = post()
    ;(await upstreams.next()).head(200).events.onBroken("reset")
    expect(await count(answering)).toEqual({ input_tokens: ESTIMATED })

    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 1 }))
    expect(await count(post())).toEqual({ input_tokens: ESTIMATED })

    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    expect(await count(post())).toEqual({ input_tokens: ESTIMATED })
    expect(upstreams.exchanges).toHaveLength(1)
  })

  it("is asked of the next supplier when the first cannot tell", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["messages"] }, { protocols: ["messages"] }) })
    const answering = post()
    ;(await upstreams.next()).head(404).end()
    const second = await upstreams.next()
    second.head(200).data('{"input_tokens":7}')
    second.end()
    expect(await count(answering)).toEqual({ input_tokens: 7 })
  })

  it("of a prompt too long to count is taken from its beginning", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    const content = "x".repeat(999_996)
    expect(await count(post({ ...ask, messages: [{ role: "user", content }] }))).toEqual({ input_tokens: 1_000_006 })
  })

  it("holds nothing, charges nothing, and is no request that was answered", async () => {
    gateway = await start({ catalog: catalogOf({ protocols: ["chat"] }) })
    await post()
    expect([gateway.journal.admitted, gateway.journal.settled]).toEqual([[], []])
    expect(gateway.counters.finishedRequests).toEqual([])
  })

  it("does not take more than a few places of a supplier", async () => {
    let answered = 0
    const counts = Promise.all(
      Array.from({ length: 20 }, async () => {
        const said = await count(post())
        answered += 1
        return said
      })
    )
    await eventually(
      () => upstreams.exchanges.length === 16 && answered === 4,
      "four estimates beside sixteen questions"
    )
    for (const exchange of upstreams.exchanges) exchange.head(200).end()
    expect(await counts).toEqual(Array.from({ length: 20 }, () => ({ input_tokens: ESTIMATED })))
    expect(upstreams.exchanges).toHaveLength(16)
  })
})

describe("a count that is refused", () => {
  it("is told as on the messages route, each fault hiding the ones after it", async () => {
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
    const large = JSON.stringify({ ...ask, pad: "x".repeat(2_000) })
    expect(await refused(large, { "x-api-key": "wrong" })).toBe("401 invalid_api_key authentication_error")
    expect(await refused(large, { authorization: "Bearer other" })).toBe("401 invalid_api_key authentication_error")
    expect(await refused(large)).toBe("413 request_too_large invalid_request_error")
    expect(await refused({ ...ask, messages: [] })).toBe("400 invalid_request invalid_request_error")
    expect(await refused({ ...ask, model: "unknown" })).toBe("404 model_not_found not_found_error")
    expect(upstreams.exchanges).toEqual([])
  })

  it("has its supplier let go when the client leaves", async () => {
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(ask)
    client.send(
      `POST /v1/messages/count_tokens HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    const exchange = await upstreams.next()
    client.leave()
    await eventually(() => exchange.verdict === "undecided", "the end of the exchange")
    await eventually(() => gateway.counters.openRequests === 0, "the end of the request")
  })

  it("is told to come again by a server that stops and cannot wait for it", async () => {
    gateway = await start({ drainSeconds: 0 })
    const answering = post()
    await upstreams.next()
    await gateway.close()
    expect((await answering).status).toBe(503)
  })
})
