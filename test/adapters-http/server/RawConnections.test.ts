import { afterEach, describe, expect, it } from "vitest"
import { chunk, completion, usage } from "../../support/upstream/ChatWire.ts"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { chatRequest, hello, helloStream, RawClient } from "../inference/relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  noResources,
  startGateway,
  type TestGatewayOptions
} from "../inference/relay/TestGateway.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const start = async (options: Partial<TestGatewayOptions> = {}) => {
  const upstreams = new FakeUpstreams()
  const gateway = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer, ...options })
  return { upstreams, gateway }
}

const PROBE = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
const chat = (body: object) => chatRequest(JSON.stringify(body), [`authorization: Bearer ${KEY}`])
const completionBody = JSON.stringify(completion({ usage: usage(1, 1) }))
/** The limit of connections, all but one of which are idle. `npm run proof` sets a limit of thousands. */
const IDLE = Number(process.env.IDLE_CONNECTIONS ?? "50")
const countOf = (text: string, part: string) => text.split(part).length - 1

describe("a connection", () => {
  it.each([
    ["sends nothing", ""],
    ["stops inside its headers", "GET /healthz HTTP/1.1\r\nHost"],
    ["stops inside its body", chat(hello()).slice(0, -1)],
    [
      "stops inside a chunk",
      chat(hello())
        .replace(/content-length: \d+/, "transfer-encoding: chunked")
        .replace(/\{.*$/s, "9\r\n{")
    ]
  ])("that %s gets 408 request_timeout", async (_, bytes) => {
    const { gateway } = await start({ uploadSeconds: 0.1 })
    const client = (await RawClient.connect(gateway.port)).send(bytes)
    await client.untilClosed()
    expect(client.text).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s)
  })

  it("that sends byte by byte gets 408 request_timeout", async () => {
    const { gateway } = await start({ uploadSeconds: 0.3 })
    const clients = await Promise.all([RawClient.connect(gateway.port), RawClient.connect(gateway.port)])
    clients[0].send("GET /healthz HTTP/1.1\r\nHost: ")
    clients[1].send(chat(hello()).slice(0, -40))
    const drip = setInterval(() => {
      clients[0].send("x")
      clients[1].send(" ")
    }, 20)
    await Promise.all(clients.map((client) => client.untilClosed()))
    clearInterval(drip)
    for (const { text } of clients) expect(countOf(text, "408")).toBe(1)
  })

  it("that is idle is closed when the limit of connections is reached", async () => {
    const { gateway, upstreams } = await start({ maxConnections: IDLE })
    const busy = (await RawClient.connect(gateway.port)).send(chat(helloStream))
    const provider = (await upstreams.next()).stream()
    const idle = await Promise.all(Array.from({ length: IDLE - 1 }, () => RawClient.connect(gateway.port)))
    for (let i = 0; i < 10; i++) {
      const other = (await RawClient.connect(gateway.port)).send(PROBE)
      expect((await other.response()).status).toBe(200)
      idle.push(other)
    }
    await eventually(() => idle.filter(({ closed }) => closed).length >= 10, "the end of ten idle connections")
    provider.event(chunk({ content: "a" }))
    await busy.untilText('"a"')
    for (const client of [busy, ...idle]) client.disconnect()
  })

  it("is refused when busy connections have reached the limit", async () => {
    const { gateway, upstreams } = await start({ maxConnections: 2 })
    const busy = await Promise.all([RawClient.connect(gateway.port), RawClient.connect(gateway.port)])
    for (const client of busy) {
      client.send(chat(helloStream))
      await upstreams.next()
    }
    await (await RawClient.connect(gateway.port)).untilClosed()
    for (const client of busy) {
      expect(client.closed).toBe(false)
      client.disconnect()
    }
  })
})

describe("pipelined requests", () => {
  it("are served one after the other", async () => {
    const { gateway, upstreams } = await start()
    const client = (await RawClient.connect(gateway.port)).send(chat(hello()) + PROBE + chat(hello()) + PROBE)
    for (const served of [1, 2]) {
      const provider = await upstreams.next()
      expect(upstreams.exchanges).toHaveLength(served)
      provider.head(200).data(completionBody)
      provider.end()
    }
    const bodies: Array<string> = []
    for (let i = 0; i < 4; i++) bodies.push((await client.response()).body)
    expect(bodies.map((body) => body.includes('"status":"ok"'))).toEqual([false, true, false, true])
    client.disconnect()
  })

  it("do not get the write timeout of the response before them", async () => {
    const { gateway, upstreams } = await start({ writeStallSeconds: 0.05 })
    const client = (await RawClient.connect(gateway.port)).send(PROBE + chat(hello()))
    const provider = await upstreams.next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    provider.head(200).data(completionBody)
    provider.end()
    const statuses = [(await client.response()).status, (await client.response()).status]
    expect(statuses).toEqual([200, 200])
    client.disconnect()
  })

  it("close their connection when more than 16 wait", async () => {
    const { gateway, upstreams } = await start()
    const client = (await RawClient.connect(gateway.port)).send(chat(helloStream))
    await upstreams.next()
    client.send(chat(helloStream).repeat(16))
    const second = (await RawClient.connect(gateway.port)).send(PROBE)
    expect((await second.response()).status).toBe(200)
    expect([client.closed, upstreams.exchanges.length]).toEqual([false, 1])
    client.send(PROBE)
    await client.untilClosed()
    expect(upstreams.exchanges).toHaveLength(1)
    second.disconnect()
  })

  it.each(["garbage\r\n\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n"])(
    "that are invalid get no response before an earlier request",
    async (bytes) => {
      const { gateway, upstreams } = await start()
      const client = (await RawClient.connect(gateway.port)).send(chat(hello()))
      await upstreams.next()
      client.send(bytes)
      await client.untilClosed()
      expect(client.text).toBe("")
      const endings = () => gateway.journal.settled.map(({ ending }) => ending)
      await eventually(() => endings().length === 1, "the settlement")
      expect(endings()).toEqual(["client_gone"])
    }
  )

  it("cannot follow a request with `Connection: close`", async () => {
    const { gateway, upstreams } = await start()
    const last = chat(hello()).replace("\r\n", "\r\nConnection: close\r\n")
    const client = (await RawClient.connect(gateway.port)).send(`${last}garbage`)
    const provider = await upstreams.next()
    for (const bytes of ["garbage", PROBE]) {
      client.send(bytes)
      const other = (await RawClient.connect(gateway.port)).send(PROBE)
      await other.response()
      other.disconnect()
    }
    expect(client.closed).toBe(false)
    provider.head(200).data(completionBody)
    provider.end()
    await client.untilClosed()
    expect(countOf(client.text, "HTTP/1.1 ")).toBe(1)
    expect(client.text).toMatch(/^HTTP\/1\.1 200 .*"usage"/s)
    const flooding = (await RawClient.connect(gateway.port)).send(last)
    await upstreams.next()
    flooding.send("x".repeat(100_000))
    await flooding.untilClosed()
    const ending = (await RawClient.connect(gateway.port)).send(`${last}garbage`)
    await upstreams.next()
    ending.socket.end()
    await ending.untilClosed()
    expect([flooding.text, ending.text]).toEqual(["", ""])
    const endings = () => gateway.journal.settled.map(({ ending }) => ending)
    await eventually(() => endings().length === 3, "the settlements")
    expect(endings()).toEqual(["complete", "client_gone", "client_gone"])
  })

  it("cannot be hidden in the body of a refused request with `Expect`", async () => {
    const { gateway } = await start()
    const head = `POST /nowhere HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${PROBE.length}\r\n\r\n`
    const client = (await RawClient.connect(gateway.port)).send(head)
    await client.untilText("404")
    client.send(PROBE)
    await client.untilClosed()
    expect([countOf(client.text, "HTTP/1.1"), countOf(client.text, "100 Continue")]).toEqual([1, 0])
  })
})

describe("a request", () => {
  it("whose body is invalid does not stay in progress", async () => {
    const { gateway } = await start()
    const head = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
    const client = (await RawClient.connect(gateway.port)).send(`${head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`)
    await client.untilClosed()
    expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400"])
    await eventually(() => gateway.inFlight.count === 0, "the end of the handling")
  })
})

describe("a client", () => {
  it("that resets its connection after a refused CONNECT does not end the server", async () => {
    const uncaught: Array<unknown> = []
    const record = (error: unknown) => void uncaught.push(error)
    process.on("uncaughtException", record)
    const { gateway } = await start()
    const client = (await RawClient.connect(gateway.port)).send("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    await client.untilText("405 Method Not Allowed")
    client.socket.resetAndDestroy()
    const other = (await RawClient.connect(gateway.port)).send(PROBE)
    expect((await other.response()).status).toBe(200)
    process.off("uncaughtException", record)
    expect(uncaught).toEqual([])
    other.disconnect()
  })

  it("that closes its sending side is treated as disconnected", async () => {
    const { gateway, upstreams } = await start()
    const client = (await RawClient.connect(gateway.port)).send(chat(helloStream))
    const provider = (await upstreams.next()).stream()
    provider.event(chunk({ content: "a" }))
    await client.untilText('"a"')
    client.socket.end()
    await client.untilClosed()
    await eventually(() => provider.verdict !== undefined, "the end of the request to the provider")
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["client_gone"])
  })

  it("that never reads is disconnected after the write timeout", async () => {
    const { gateway, upstreams } = await start({ writeStallSeconds: 0.3 })
    const client = (await RawClient.connect(gateway.port)).send(chat(helloStream))
    const provider = (await upstreams.next()).stream()
    client.socket.pause()
    const frame = chunk({ content: "x".repeat(64 * 1024) })
    const { settled } = gateway.journal
    let sent = 0
    let sentAt = 0
    while (settled.length === 0 && sent < 1_000) {
      sent += 1
      sentAt = performance.now()
      const { resumed } = provider
      if (!provider.event(frame)) {
        await eventually(
          () => provider.resumed > resumed || settled.length === 1,
          "the request for more frames or the settlement"
        )
      }
    }
    expect(sent).toBeLessThan(200)
    expect(performance.now() - sentAt).toBeGreaterThan(290)
    expect(settled.map(({ ending }) => ending)).toEqual(["client_gone"])
    client.socket.resume()
    await client.untilClosed()
  })

  it("that keeps uploading an unread body is disconnected after five seconds", async () => {
    const { gateway } = await start()
    const clients = await Promise.all([RawClient.connect(gateway.port), RawClient.connect(gateway.port)])
    const startedAt = performance.now()
    clients[0].send("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
    clients[1].send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
    const upload = setInterval(() => {
      for (const client of clients) client.send("x".repeat(100))
    }, 50)
    await Promise.all(clients.map((client) => client.untilClosed()))
    clearInterval(upload)
    expect(performance.now() - startedAt).toBeGreaterThan(4_900)
    expect(clients.map(({ text }) => text.match(/HTTP\/1\.1 \d+/g))).toEqual([["HTTP/1.1 200"], ["HTTP/1.1 401"]])
  })
})
