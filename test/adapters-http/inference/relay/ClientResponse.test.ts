import type { IncomingMessage, ServerResponse } from "node:http"
import { CommonHeaders } from "@tollgate/adapters-http/http/CommonHeaders"
import { ClientResponse } from "@tollgate/adapters-http/inference/relay/ClientResponse"
import { RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { DeliveredText } from "@tollgate/application/inference/DeliveredText"
import { afterEach, describe, expect, it } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { chunk, completion, usage } from "../../../support/upstream/ChatWire.ts"
import { done, event, json, type Step, script } from "../../../support/upstream/Script.ts"
import { chatRequest, hello, helloStream, RawClient } from "./RawClient.ts"
import { catalogOf, closeGateways, eventually, KEY, noResources, startGateway } from "./TestGateway.ts"

const upstreams: Array<ScriptedUpstream> = []
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
  for (const upstream of upstreams.splice(0)) await upstream.close()
})

const WORD = "x".repeat(20_000)
/** Together, these words exceed the buffers between a provider and a client. */
const WORDS = 3_000
const CHARACTERS = WORDS * WORD.length

/** Connects a client whose socket the test can pause. The client stores only the last 200 characters. */
const aReader = async (port: number) => {
  const { socket } = await RawClient.connect(port)
  const reader = { socket, bytes: 0, end: "" }
  socket.removeAllListeners("data")
  socket.on("data", (data: Buffer) => {
    reader.bytes += data.length
    reader.end = (reader.end + data.toString("latin1")).slice(-200)
  })
  return reader
}

const startFlood = async (options: object) => {
  const upstream = await ScriptedUpstream.start()
  upstreams.push(upstream)
  const flood: ReadonlyArray<Step> = Array.from({ length: WORDS }, () => event(chunk({ content: WORD })))
  upstream.next(script({ steps: [...flood, event(chunk({}, "stop")), done] }))
  const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }), ...options })
  const client = await aReader(gateway.port)
  client.socket.write(chatRequest(JSON.stringify(helloStream), [`x-api-key: ${KEY}`]))
  await eventually(() => client.bytes > 0, "the first bytes")
  client.socket.pause()
  return { upstream, gateway, client }
}

/** Waits until 30 consecutive reads, one every 5 ms, have returned the same number. */
const unchanging = async (read: () => number): Promise<number> => {
  let last = read()
  for (let checks = 0; checks < 30; checks++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (read() === last) continue
    last = read()
    checks = 0
  }
  return last
}

describe("a client that does not read", () => {
  it("makes the gateway stop reading from the provider", async () => {
    const { upstream, gateway, client } = await startFlood({})
    const request = await upstream.received()
    const sent = await unchanging(request.sentBytes)
    expect(sent).toBeLessThan(CHARACTERS * 0.6)
    expect(gateway.journal.settled).toEqual([])
    client.socket.resume()
    await eventually(() => client.end.includes("[DONE]"), "the end of the stream")
    await eventually(() => gateway.journal.settled.length === 1)
    expect(client.bytes).toBeGreaterThan(CHARACTERS)
    expect(gateway.journal.settled[0]?.charge.charged.output).toBe(BigInt(CHARACTERS))
    client.socket.destroy()
  })

  it("is disconnected after the write timeout", async () => {
    const { upstream, gateway, client } = await startFlood({ writeStallSeconds: 0.4 })
    await (await upstream.received()).left
    await eventually(() => gateway.journal.settled.length === 1)
    const [settled] = gateway.journal.settled
    expect(settled?.ending).toBe("client_gone")
    expect(settled?.charge.charged.output).toBeGreaterThan(0n)
    expect(settled?.charge.charged.output).toBeLessThan(BigInt(CHARACTERS))
    client.socket.resume()
    await eventually(() => client.socket.closed, "the end of the connection")
  })

  it("is disconnected during a whole response after the write timeout", async () => {
    const upstream = await ScriptedUpstream.start()
    upstreams.push(upstream)
    upstream.next(json(completion({ content: [WORD.repeat(WORDS)], usage: usage(1, 1) })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }), writeStallSeconds: 0.3 })
    const client = await aReader(gateway.port)
    client.socket.pause()
    client.socket.write(chatRequest(JSON.stringify(hello()), [`x-api-key: ${KEY}`]))
    await eventually(() => gateway.inFlight.count > 0, "the request")
    await eventually(() => gateway.inFlight.count === 0, "the end of the response")
    client.socket.resume()
    await eventually(() => client.socket.closed, "the end of the connection")
    expect(client.bytes).toBeLessThan(CHARACTERS)
  })

  it("receives no keepalives while earlier writes are pending", async () => {
    const { gateway, client } = await startFlood({ keepaliveSeconds: 0.05, tickMillis: 10 })
    const written = await unchanging(() => gateway.counters.responseBytes)
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(gateway.counters.responseBytes).toBe(written)
    client.socket.destroy()
  })
})

describe("content", () => {
  /** The socket of this response accepts the oldest pending write when the test calls `accept`. */
  const manualResponse = () => {
    const pending: Array<(error?: Error) => void> = []
    const node = {
      chunkedEncoding: true,
      socket: null,
      writeHead: () => {},
      once: () => {},
      end: () => {},
      write: (_chunk: string, _encoding: string, callback: () => void) => {
        pending.push(callback)
        return false
      }
    }
    const response = new ClientResponse(
      { socket: { destroyed: false } } as IncomingMessage,
      node as unknown as ServerResponse,
      "id",
      {
        headers: new CommonHeaders({ corsAllowOrigin: "*" }),
        counters: new RelayCounters(),
        writeStallMillis: 1_000,
        draining: () => false,
        refusing: () => false
      },
      0
    )
    const text = new DeliveredText()
    response.setDelivery(text, () => {})
    const write = (content: string) => {
      text.append(content)
      response.write(`data: ${content}\n\n`)
    }
    return { response, text, write, accept: (error?: Error) => pending.shift()?.(error) }
  }

  it("is delivered only when the socket has accepted its write", () => {
    const { response, text, write, accept } = manualResponse()
    let done = false
    response.whenAccepted(() => {
      done = true
    })
    write("one")
    write("three")
    response.write(": keepalive\n\n")
    text.append("!")
    response.end("data: !\n\n")
    const delivered: Array<readonly [string, number, boolean]> = []
    for (let i = 0; i < 4; i++) {
      accept()
      delivered.push([text.texts.join(""), text.deltas, done])
    }
    expect(delivered).toEqual([
      ["one", 1, false],
      ["onethree", 2, false],
      ["onethree", 2, false],
      ["onethree!", 3, true]
    ])
  })

  it("is not delivered if its write failed", () => {
    const { response, text, write, accept } = manualResponse()
    write("one")
    write("three")
    response.end("")
    accept()
    accept(new Error("write EPIPE"))
    accept(new Error("write EPIPE"))
    response.close()
    expect([text.texts.join(""), response.gone]).toEqual(["one", true])
  })
})
