import { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { chatFrames, completion, errorBody, usage } from "../../../support/upstream/ChatWire.ts"
import { signal } from "../../../support/upstream/Script.ts"
import { type FakeExchange, FakeUpstreams } from "./FakeUpstreams.ts"
import { hello, post, RawClient } from "./RawClient.ts"
import { catalogOf, closeGateways, eventually, noResources, startGateway } from "./TestGateway.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const whole = JSON.stringify(completion({ usage: usage(3, 2) }))

const start = async (options: object = {}) => {
  const upstreams = new FakeUpstreams()
  const gateway = await startGateway({ catalog: catalogOf({}, {}), upstreams: upstreams.layer, ...options })
  return { upstreams, gateway }
}

const respond = (exchange: FakeExchange) => {
  exchange.head(200).data(whole)
  exchange.end()
}

describe("a whole response", () => {
  it("is settled before it is written", async () => {
    const { upstreams, gateway } = await start()
    const settling = signal()
    gateway.journal.beforeSettling = Effect.promise(() => settling.fired)
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    respond(await upstreams.next())
    await eventually(() => gateway.counters.openExchanges === 0)
    expect(client.text).toBe("")
    settling.fire()
    const { status, headers, body } = await client.response()
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "application/json",
      "no-store"
    ])
    expect(JSON.parse(body)).toMatchObject({ model: "m", usage: usage(3, 2) })
    expect(gateway.journal.settled.map(({ ending, waited }) => [ending, waited])).toEqual([["complete", true]])
    client.disconnect()
  })

  it("is not charged if the client disconnects during its settlement", async () => {
    const { upstreams, gateway } = await start()
    const settling = signal()
    gateway.journal.beforeSettling = Effect.promise(() => settling.fired)
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    respond(await upstreams.next())
    await eventually(() => gateway.counters.openExchanges === 0)
    client.disconnect()
    await eventually(() => gateway.counters.openRequests === 1)
    await new Promise((resolve) => setTimeout(resolve, 30))
    settling.fire()
    await eventually(() => gateway.journal.settled.length === 1)
    const [settled] = gateway.journal.settled
    expect(settled).toMatchObject({
      ending: "client_gone",
      charge: { charged: { input: 0n, output: 0n }, consumed: { output: 2n } }
    })
  })

  it("is not delivered if another node has settled the request", async () => {
    const { upstreams, gateway } = await start()
    gateway.journal.settledByOtherNode = true
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    respond(await upstreams.next())
    const { status, headers, body } = await client.response()
    expect([status, headers.get("retry-after")]).toEqual([503, "1"])
    expect(JSON.parse(body)).toMatchObject({ error: { code: "overloaded" } })
    expect(body).not.toContain("choices")
    const warnings = gateway.logged.filter((line) => line.includes("a sweep has already settled the request"))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(headers.get("x-request-id"))
    client.disconnect()
  })

  it("is relayed from chunks of one character", async () => {
    const { upstreams, gateway } = await start()
    const response = post(gateway.url, hello())
    const exchange = (await upstreams.next()).head(200)
    for (const character of whole) exchange.data(character)
    exchange.end()
    expect(await (await response).json()).toMatchObject({ choices: JSON.parse(whole).choices })
    expect(exchange.verdict).toBe("served")
  })

  it.each([
    ["an event stream", "text/event-stream", `data: ${JSON.stringify(chatFrames()[0])}\n\n`],
    ["an HTML page", "text/html", "<html>busy</html>"],
    ["a truncated body", "application/json", whole.slice(0, -10)],
    ["an empty body", "application/json", ""]
  ])("fails without another attempt if it is %s", async (_, type, body) => {
    const { upstreams, gateway } = await start()
    const response = post(gateway.url, hello())
    const exchange = (await upstreams.next()).head(200, type)
    exchange.data(body)
    exchange.end()
    expect([(await response).status, exchange.verdict, upstreams.exchanges.length]).toEqual([502, "failed", 1])
  })

  it.each([false, true])("without content is not charged (stream requested: %s)", async (streamed) => {
    const { upstreams, gateway } = await start()
    const response = post(gateway.url, hello({ stream: streamed }))
    const exchange = (await upstreams.next()).head(200)
    exchange.data(JSON.stringify({ ...JSON.parse(whole), choices: [], usage: usage(1_000, 2_000) }))
    exchange.end()
    expect((await response).status).toBe(502)
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled).toMatchObject([
      {
        ending: "failed",
        charge: { charged: { input: 0n, output: 0n }, consumed: { input: 1_000n, output: 2_000n } }
      }
    ])
  })

  it("is not requested from another route after the connection was reset", async () => {
    const { upstreams, gateway } = await start()
    const response = post(gateway.url, hello())
    const exchange = (await upstreams.next()).head(200)
    exchange.data(whole.slice(0, 20))
    exchange.events.onBroken("reset")
    expect([(await response).status, exchange.verdict, upstreams.exchanges.length]).toEqual([502, "failed", 1])
  })

  it("fails if it exceeds the maximum size", async () => {
    const { upstreams, gateway } = await start({ responseBytes: 1_000 })
    const response = post(gateway.url, hello())
    const exchange = (await upstreams.next()).head(200)
    exchange.data("x".repeat(1_001))
    expect([(await response).status, exchange.verdict]).toEqual([502, "failed"])
  })
})

describe("the verdict on a provider", () => {
  it.each([
    [400, "served", 400, 1],
    [422, "served", 400, 1],
    [413, "served", 413, 1],
    [429, "served", 429, 2],
    [401, "misconfigured", 502, 2],
    [402, "misconfigured", 502, 2],
    [403, "served", 502, 2],
    [404, "served", 502, 2],
    [302, "failed", 502, 2],
    [408, "failed", 502, 2],
    [409, "failed", 502, 2],
    [500, "failed", 502, 2],
    [503, "failed", 502, 2],
    [529, "failed", 502, 2]
  ])("after status %i is `%s`", async (status, verdict, clientStatus, attempts) => {
    const { upstreams, gateway } = await start()
    const response = post(gateway.url, hello())
    for (let i = 0; i < attempts; i++) {
      const exchange = (await upstreams.next()).head(status, "application/json", "7")
      exchange.data(JSON.stringify(errorBody("no")))
      exchange.end()
      expect(exchange.verdict).toBe(verdict)
    }
    const { status: receivedStatus, headers } = await response
    expect([receivedStatus, upstreams.exchanges.length]).toEqual([clientStatus, attempts])
    if (clientStatus === 429) expect(headers.get("retry-after")).toBe("7")
  })

  it("is undecided if the client disconnects", async () => {
    const { upstreams, gateway } = await start()
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    const exchange = await upstreams.next()
    client.disconnect()
    await eventually(() => exchange.verdict !== undefined)
    expect(exchange.verdict).toBe("undecided")
  })
})

describe("an attempt that sends nothing", () => {
  it("is followed by an attempt on the next route", async () => {
    const { upstreams, gateway } = await start()
    upstreams.refusals.push(new UpstreamFailed({ cause: "off" }), new CircuitOpen({ retryAfterSeconds: 9 }))
    upstreams.refusals.push(new CircuitOpen({ retryAfterSeconds: 9 }), new CircuitOpen({ retryAfterSeconds: 9 }))
    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 1 }), undefined)
    expect((await post(gateway.url, hello())).status).toBe(502)
    const open = await post(gateway.url, hello())
    expect([open.status, open.headers.get("retry-after")]).toEqual([503, "9"])
    const third = post(gateway.url, hello())
    respond(await upstreams.next())
    expect((await third).status).toBe(200)
  })
})
