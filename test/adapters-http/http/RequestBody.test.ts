import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { MemoryReservation, ReservedMemory } from "@tollgate/adapters-http/http/MemoryReservation"
import { readInferenceBody } from "@tollgate/adapters-http/http/RequestBody"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { afterEach, describe, expect, it } from "vitest"
import { completion, usage } from "../../support/upstream/ChatWire.ts"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { chatRequest, hello, post, RawClient } from "../inference/relay/RawClient.ts"
import { catalogOf, closeGateways, eventually, KEY, noResources, startGateway } from "../inference/relay/TestGateway.ts"
import { operation } from "../OpenApiDocument.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const LIMIT = 1_000_000
const upload = (headers: ReadonlyArray<string>) =>
  ["POST /v1/chat/completions HTTP/1.1", "host: x", `x-api-key: ${KEY}`, ...headers, "", ""].join("\r\n")

/** `respond` waits for the next upstream request and responds to it. */
const start = async (options: object = {}) => {
  const upstreams = new FakeUpstreams()
  const gateway = await startGateway({
    catalog: catalogOf({}),
    upstreams: upstreams.layer,
    bodyBytes: LIMIT,
    ...options
  })
  const respond = async () => {
    const exchange = await upstreams.next()
    exchange.head(200).data(JSON.stringify(completion({ usage: usage(1, 1) })))
    exchange.end()
    return exchange
  }
  return { upstreams, gateway, respond }
}

describe("a body", () => {
  it("is read completely if it arrives in several chunks", async () => {
    const { gateway, respond } = await start()
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(hello({ pad: "é".repeat(30_000) }))
    client.send(upload(["transfer-encoding: chunked"]))
    for (let at = 0; at < body.length; at += 7_000) {
      const chunk = Buffer.from(body.slice(at, at + 7_000))
      client
        .send(`${chunk.length.toString(16)}\r\n`)
        .send(chunk)
        .send("\r\n")
    }
    client.send("0\r\n\r\n")
    const { request } = await respond()
    expect(JSON.parse(Buffer.from(request.body).toString())).toMatchObject({ pad: "é".repeat(30_000), model: "m-0" })
    expect((await client.response()).status).toBe(200)
    client.disconnect()
  })

  it("is refused before it is read if its announced length exceeds the limit", async () => {
    const { gateway } = await start()
    const client = await RawClient.connect(gateway.port)
    const { status, headers, body } = await client.send(upload([`content-length: ${LIMIT + 1}`])).response()
    expect([status, headers.get("connection")]).toEqual([413, "close"])
    expect(body).toContain('"code":"request_too_large"')
    client.disconnect()
  })

  it("without an announced length is refused above the limit", async () => {
    const { gateway } = await start()
    const client = await RawClient.connect(gateway.port)
    client.send(upload(["transfer-encoding: chunked"]))
    const chunk = Buffer.alloc(100_000, "x")
    let sent = 0
    while (client.text === "" && sent < 100 * LIMIT) {
      client
        .send(`${chunk.length.toString(16)}\r\n`)
        .send(chunk)
        .send("\r\n")
      sent += chunk.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await client.response()).status).toBe(413)
    client.disconnect()
    await eventually(() => gateway.counters.openRequests === 0)
  })

  it("releases its memory when the client disconnects during the upload", async () => {
    const { gateway, upstreams } = await start()
    const client = await RawClient.connect(gateway.port)
    client.send(upload(["content-length: 900000"])).send(Buffer.alloc(500_000, "x"))
    await eventually(() => gateway.counters.bodyBytes > 0, "bytes of the body")
    client.disconnect()
    await eventually(() => gateway.counters.openRequests === 0)
    expect([gateway.counters.bodyBytes, upstreams.exchanges.length]).toEqual([0, 0])
  })

  it("is refused if it does not arrive before the timeout", async () => {
    const { gateway } = await start({ uploadSeconds: 0.2 })
    const client = await RawClient.connect(gateway.port)
    client.send(upload(["content-length: 900"])).send("{")
    const { status, headers, body } = await client.response()
    expect([status, headers.has("x-request-id"), headers.get("connection")]).toEqual([408, true, "close"])
    expect(body).toContain('"code":"request_timeout"')
    await eventually(() => gateway.counters.openRequests === 0)
  })

  it("is refused if its customer would use more than half of the memory", async () => {
    const { gateway, respond } = await start({ allBodiesBytes: 700_000 })
    const large = hello({ pad: "x".repeat(200_000) })
    const first = post(gateway.url, large)
    await eventually(() => gateway.counters.bodyBytes > 200_000)
    const second = await post(gateway.url, large)
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"])
    await respond()
    expect((await first).status).toBe(200)
    await eventually(() => gateway.counters.bodyBytes === 0)
    const third = post(gateway.url, large)
    await respond()
    expect((await third).status).toBe(200)
  })

  it.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["application/vnd.api+json", 200],
    ["text/plain;charset=UTF-8", 200],
    ["application/x-www-form-urlencoded", 400],
    ["multipart/form-data; boundary=x", 400],
    ["application/jsonx", 400]
  ])("with content type %s results in status %i", async (type, status) => {
    const { gateway, respond } = await start()
    const response = post(gateway.url, hello(), { "content-type": type })
    if (status === 200) await respond()
    expect((await response).status).toBe(status)
  })

  it("is read as JSON if it has no content type", async () => {
    const { gateway, respond } = await start()
    const body = JSON.stringify(hello())
    const client = await RawClient.connect(gateway.port)
    client.send(upload([`content-length: ${body.length}`])).send(body)
    await respond()
    expect((await client.response()).status).toBe(200)
    client.disconnect()
  })

  it("is refused if it is compressed", async () => {
    const { gateway } = await start()
    const response = await post(gateway.url, hello(), { "content-encoding": "gzip" })
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("content-encoding")])
  })

  it("that is small and refused leaves its connection open", async () => {
    const { gateway, respond } = await start()
    const client = await RawClient.connect(gateway.port)
    const refused = await client.send(chatRequest(JSON.stringify(hello()), ["x-api-key: wrong"])).response()
    expect([refused.status, refused.headers.get("connection")]).toEqual([401, "keep-alive"])
    client.sendChat(hello())
    await respond()
    expect((await client.response()).status).toBe(200)
    client.disconnect()
  })
})

const startWithoutFunds = async () => {
  const started = await start()
  started.gateway.journal.refusal = new InsufficientBalance()
  return started
}

describe("without funds, a body above 64 KiB", () => {
  it("is refused with 402 before it is read", async () => {
    const { gateway, upstreams } = await startWithoutFunds()
    const client = await RawClient.connect(gateway.port)
    const { status, headers, body } = await client.send(upload(["content-length: 65537"])).response()
    expect([status, headers.get("connection"), headers.get("x-should-retry")]).toEqual([402, "close", "false"])
    expect(body).toContain('"code":"insufficient_balance"')
    expect([gateway.counters.bodyBytes, upstreams.exchanges.length]).toEqual([0, 0])
    client.disconnect()
  })

  it("is refused with 402 instead of 100 Continue", async () => {
    const { gateway } = await startWithoutFunds()
    const client = await RawClient.connect(gateway.port)
    const head = upload(["content-length: 65537", "expect: 100-continue"])
    expect((await client.send(head).response()).status).toBe(402)
    client.disconnect()
  })

  it("is refused before its end without an announced length", async () => {
    const { gateway } = await startWithoutFunds()
    const client = await RawClient.connect(gateway.port)
    client.send(upload(["transfer-encoding: chunked"]))
    const chunk = Buffer.alloc(40_000, " ")
    for (let i = 0; i < 2; i++)
      client
        .send(`${chunk.length.toString(16)}\r\n`)
        .send(chunk)
        .send("\r\n")
    const { status, body } = await client.response()
    expect([status, body]).toEqual([402, expect.stringContaining('"code":"insufficient_balance"')])
    await eventually(() => gateway.counters.bodyBytes === 0)
    client.disconnect()
  })

  it("is not read if it arrived without an announced length while the key was checked", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const client = await RawClient.connect((server.address() as AddressInfo).port)
    client.send(upload(["transfer-encoding: chunked"]))
    const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse]
    const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`
    client.send(chunk(15_000))
    await eventually(() => request.readableLength === 15_000, "the first chunk")
    client.send(`${chunk(60_000)}0\r\n\r\n`)
    await eventually(() => request.complete, "the whole body")
    const steps: Array<string> = []
    const limits = {
      limitBytes: LIMIT,
      reservation: new MemoryReservation(new ReservedMemory(), LIMIT),
      beforeLargeBody: (callback: (continues: boolean) => void) => {
        steps.push("checked the funds")
        callback(false)
      }
    }
    readInferenceBody(request, response, limits, () => steps.push("read the body"))
    expect(steps).toEqual(["checked the funds"])
    client.disconnect()
    server.close()
  })

  it("is refused with 402 for a token count", async () => {
    const { gateway } = await startWithoutFunds()
    const client = await RawClient.connect(gateway.port)
    client.send(upload(["content-length: 65537"]).replace("chat/completions", "messages/count_tokens"))
    const { status, body } = await client.response()
    expect([status, JSON.parse(body)]).toMatchObject([
      402,
      { type: "error", error: { code: "insufficient_balance", details: { error_code: "insufficient_balance" } } }
    ])
    expect(operation("POST /v1/messages/count_tokens").responses).toHaveProperty("402")
    client.disconnect()
  })
})

describe("without funds, a body of at most 64 KiB", () => {
  it("is refused with 404 if its model is unknown, and otherwise with 402", async () => {
    const { gateway } = await startWithoutFunds()
    const pad = "x".repeat(60_000)
    expect((await post(gateway.url, hello({ pad, model: "unknown" }))).status).toBe(404)
    expect((await post(gateway.url, hello({ pad }))).status).toBe(402)
  })
})
