import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { chunk, completion, usage } from "../../support/upstream/ChatWire.ts"
import { signal } from "../../support/upstream/Script.ts"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { contents, hello, helloStream, RawClient } from "../inference/relay/RawClient.ts"
import { catalogOf, closeGateways, eventually, KEY, noResources, startGateway } from "../inference/relay/TestGateway.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const start = async (options: object = {}) => {
  const upstreams = new FakeUpstreams()
  const gateway = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer, ...options })
  return { upstreams, gateway }
}

/** Returns a client that has received the delta `a`, and the provider's side of its stream. */
const streaming = async ({ upstreams, gateway }: Awaited<ReturnType<typeof start>>) => {
  const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
  const provider = (await upstreams.next()).stream()
  provider.event(chunk({ content: "a" }))
  await client.untilText('"a"')
  return { client, provider }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\n\r\n`

describe("a server during shutdown", () => {
  it("refuses new requests while an open stream finishes", async () => {
    const running = await start()
    const { gateway } = running
    const [chatClient, modelsClient, readinessClient, livenessClient] = await Promise.all(
      Array.from({ length: 4 }, () => RawClient.connect(gateway.port))
    )
    // A connection is idle only after its first request.
    for (const kept of [chatClient, modelsClient, readinessClient, livenessClient])
      await kept?.send(get("/healthz")).response()
    const { client, provider } = await streaming(running)
    const closing = gateway.close()
    await eventually(() => gateway.inFlight.refusing)

    const refused = await chatClient?.sendChat(hello()).response()
    expect([refused?.status, refused?.headers.get("connection"), refused?.headers.get("retry-after")]).toEqual([
      503,
      "close",
      "1"
    ])
    expect(refused?.body).toContain('"code":"overloaded"')
    expect((await modelsClient?.send(get("/v1/models")).response())?.status).toBe(503)
    const unready = await readinessClient?.send(get("/readyz")).response()
    expect([unready?.status, JSON.parse(unready?.body ?? "")]).toEqual([
      503,
      { status: "not_ready", reason: "draining" }
    ])
    const healthy = await livenessClient?.send(get("/healthz")).response()
    expect([healthy?.status, healthy?.headers.get("connection")]).toEqual([200, "close"])
    await expect(RawClient.connect(gateway.port)).rejects.toThrow(/ECONNREFUSED/)

    provider.event(chunk({ content: "b" }))
    provider.event(chunk({}, "stop"))
    provider.data("data: [DONE]\n\n")
    provider.end()
    await client.untilText("[DONE]")
    await closing
    expect(contents(client.text)).toEqual(["a", "b"])
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["complete"])
  })

  it("serves new requests during the delay", async () => {
    const delay = signal()
    const running = await start({ drainSeconds: 100, drainDelaySeconds: 30, endOfDelay: delay.fired })
    const { gateway, upstreams } = running
    const [chatClient, modelsClient, idle] = await Promise.all(
      Array.from({ length: 3 }, () => RawClient.connect(gateway.port))
    )
    if (chatClient === undefined || modelsClient === undefined || idle === undefined) throw new Error("no connection")
    for (const kept of [chatClient, modelsClient, idle]) {
      const { headers } = await kept.send(get("/healthz")).response()
      expect(headers.get("connection")).toBe("keep-alive")
    }
    const unused = await RawClient.connect(gateway.port)
    const preflight = await RawClient.connect(gateway.port)
    const early = await streaming(running)
    const late = await streaming(running)
    const waiting = (await RawClient.connect(gateway.port)).sendChat(hello())
    const open = await upstreams.next()
    const closing = gateway.close()
    await eventually(() => gateway.inFlight.draining)

    const complete = (upstream: typeof open) => {
      const provider = upstream.head(200)
      provider.data(JSON.stringify(completion({ usage: usage(1, 1) })))
      provider.end()
    }
    const closed = async (client: RawClient) => {
      const { status, headers } = await client.response()
      return [status, headers.get("connection")]
    }
    const finish = ({ provider }: typeof early) => {
      provider.event(chunk({}, "stop"))
      provider.data("data: [DONE]\n\n")
      provider.end()
    }
    // Each of these responses closes its connection.
    complete(open)
    expect(await closed(waiting)).toEqual([200, "close"])
    preflight.send("OPTIONS /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
    expect(await closed(preflight)).toEqual([204, "close"])
    for (const client of [chatClient, await RawClient.connect(gateway.port)]) {
      client.sendChat(hello())
      complete(await upstreams.next())
      expect(await closed(client)).toEqual([200, "close"])
      await client.untilClosed()
    }
    finish(early)
    await early.client.untilText("[DONE]")
    await early.client.untilText("0\r\n\r\n")
    early.client.text = ""
    early.client.sendChat(hello())
    complete(await upstreams.next())
    expect(await closed(early.client)).toEqual([200, "close"])
    expect(await closed(modelsClient.send(get("/v1/models")))).toEqual([200, "close"])
    const unready = await (await RawClient.connect(gateway.port)).send(get("/readyz")).response()
    expect([unready.status, JSON.parse(unready.body)]).toEqual([503, { status: "not_ready", reason: "draining" }])

    delay.fire()
    await idle.untilClosed()
    await expect(RawClient.connect(gateway.port)).rejects.toThrow(/ECONNREFUSED/)
    expect(await closed(unused.sendChat(hello()))).toEqual([503, "close"])
    // The head of this stream has announced that the connection stays open.
    finish(late)
    await late.client.untilText("[DONE]")
    await late.client.untilClosed()
    await closing
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(Array.from({ length: 6 }, () => "complete"))
  })

  it("stops within two seconds if no request is open", async () => {
    const { gateway } = await start({ drainSeconds: 30 })
    const idle = await RawClient.connect(gateway.port)
    const startedAt = performance.now()
    await gateway.close()
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await idle.untilClosed()
  })

  it("interrupts open requests after the grace period", async () => {
    const running = await start({ drainSeconds: 0.1 })
    const { gateway, upstreams } = running
    const { client, provider } = await streaming(running)
    const waiting = (await RawClient.connect(gateway.port)).sendChat(hello())
    const open = await upstreams.next()
    await gateway.close()
    await client.untilClosed()
    expect(client.text).toContain('"code":"overloaded"')
    expect(client.text).not.toContain("[DONE]")
    expect((await waiting.response()).status).toBe(503)
    expect([provider.verdict, open.verdict]).toEqual(["undecided", "undecided"])
    const charged = gateway.journal.settled.map(({ ending, charge }) => [ending, charge.charged.output])
    expect(charged).toHaveLength(2)
    expect(charged).toContainEqual(["client_gone", 1n])
    expect(charged).toContainEqual(["client_gone", 0n])
  })

  it("logs the number of interrupted requests", async () => {
    const running = await start({ drainSeconds: 0.1 })
    const { gateway } = running
    await streaming(running)
    const unfinished = await RawClient.connect(gateway.port)
    const head = ["POST /v1/images/generations HTTP/1.1", "host: x", `x-api-key: ${KEY}`, "content-length: 100"]
    unfinished.send(`${[...head, "content-type: application/json"].join("\r\n")}\r\n\r\n{`)
    await eventually(() => gateway.inFlight.count === 4, "the start of the handler")
    await gateway.close()
    const logged = gateway.logged.filter((line) => line.includes("interrupting running requests"))
    expect(logged).toHaveLength(1)
    expect(logged[0]).toContain('{"requests":2}')
  })

  it("stops although a client reads nothing", async () => {
    const running = await start({ drainSeconds: 0.1 })
    const { client, provider } = await streaming(running)
    client.socket.pause()
    const flood = chunk({ content: "x".repeat(1_000_000) })
    // Fills the socket until the gateway stops reading from the provider.
    let resumed = -1
    while (resumed < provider.resumed) {
      resumed = provider.resumed
      expect(provider.event(flood)).toBe(false)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    await running.gateway.close()
    expect(running.gateway.journal.settled.map(({ ending }) => ending)).toEqual(["client_gone"])
    client.disconnect()
  })

  it("waits until the request of a disconnected client is settled", async () => {
    const running = await start({ drainSeconds: 0.1 })
    const { gateway } = running
    const settling = signal()
    gateway.journal.beforeCounting = Effect.promise(() => settling.fired)
    const { client } = await streaming(running)
    client.disconnect()
    let closed = false
    const closing = gateway.close().then(() => {
      closed = true
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([closed, gateway.journal.settled.length]).toEqual([false, 0])
    settling.fire()
    await closing
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["client_gone"])
  })

  it("responds to a request that is settled after the grace period", async () => {
    const { gateway, upstreams } = await start({ drainSeconds: 0.1 })
    const settling = signal()
    gateway.journal.beforeSettling = Effect.promise(() => settling.fired)
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    const provider = (await upstreams.next()).head(200)
    provider.data(JSON.stringify(completion({ usage: usage(1, 1) })))
    provider.end()
    const closing = gateway.close()
    await new Promise((resolve) => setTimeout(resolve, 300))
    settling.fire()
    const { status, headers } = await client.response()
    expect([status, headers.get("connection")]).toEqual([200, "close"])
    await closing
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["complete"])
  })
})
