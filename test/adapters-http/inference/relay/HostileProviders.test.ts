/** Tests attacks by providers. The entries of `attacks` run over real sockets. */
import { CollectedBody } from "@tollgate/adapters-http/http/CollectedBody"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { chatFrames, chunk, completion, usage } from "../../../support/upstream/ChatWire.ts"
import {
  again,
  bytes,
  done,
  event,
  json,
  raw,
  type Script,
  type Step,
  script,
  stream,
  text
} from "../../../support/upstream/Script.ts"
import { FakeUpstreams } from "./FakeUpstreams.ts"
import { hello, post } from "./RawClient.ts"
import { aModel, catalogOf, closeGateways, noResources, startGateway, type TestGatewayOptions } from "./TestGateway.ts"

const KIB = 1024
const MIB = 1024 * KIB
/** The bytes that sockets and streams between the provider and the relay can hold. */
const IN_TRANSIT_BYTES = 12 * MIB
/** Only a timeout ends these attacks. */
const ONLY_TIME = Number.POSITIVE_INFINITY

let upstream: ScriptedUpstream
beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
  await upstream.close()
})

const shortTimeouts = { firstByteMillis: 900, idleMillis: 900, totalMillis: 1_800 }
const longTimeouts = { firstByteMillis: 60_000, idleMillis: 60_000, totalMillis: 60_000 }
const start = (options: Partial<TestGatewayOptions> = {}, timeouts = longTimeouts) =>
  startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl, timeouts }), ...options })

/** Sends these bytes repeatedly, as fast as the relay reads them. */
const flood = (data: string): Step => again(bytes(data))
const rawFlood = (data: string): Step => again(raw(data))
const withoutHead = (...steps: ReadonlyArray<Step>): Script => script({ status: "none", steps })
const wholeBody = (...steps: ReadonlyArray<Step>): Script =>
  script({ headers: { "content-type": "application/json" }, steps })
const refusing = (...steps: ReadonlyArray<Step>): Script =>
  script({ status: 400, headers: { "content-type": "application/json" }, steps })
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
const word = event(chunk({ content: "a" }))
const tinyValues = `{"choices":[${"{},".repeat(2_500_000)}{}]}`

interface Attack {
  readonly script: Script
  readonly streamed?: boolean
  /** The code of the error that the client gets; `upstream_error` by default. */
  readonly code?: string
  /** The maximum number of bytes that the relay reads from the provider; 32 MiB by default. */
  readonly maxBytes?: number
}

const attacks: Readonly<Record<string, Attack>> = {
  "sends one header of 64 KiB": { script: json({}, 200, { padding: "x".repeat(64 * KIB) }) },
  "sends 5,000 headers": {
    script: json({}, 200, Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, "y"])))
  },
  "sends headers without an end": {
    script: withoutHead(raw("HTTP/1.1 200 OK\r\n"), rawFlood("x: y\r\n".repeat(1_000)))
  },
  "sends a status line without an end": {
    script: withoutHead(raw("HTTP/1.1 200 "), rawFlood("x".repeat(MIB))),
    maxBytes: ONLY_TIME
  },
  "sends interim responses without an end": {
    script: withoutHead(rawFlood("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10)))
  },
  "sends the head byte by byte": {
    script: withoutHead(raw("HTTP/1.1 200 OK\r\n"), again(raw("x"), 20))
  },
  "sends an endless response with status 400": { script: refusing(flood("x".repeat(MIB))), code: "invalid_request" },
  "sends a response with status 400 byte by byte": { script: refusing(again(bytes("x"), 20)), code: "invalid_request" },
  "sends a whole response without an end": { script: wholeBody(flood(" ".repeat(MIB))), maxBytes: 4 * MIB },
  "sends a whole response byte by byte": { script: wholeBody(again(bytes(" "), 20)) },
  "sends a whole response of millions of tiny values": { script: text(tinyValues, "application/json") },
  "sends millions of tiny values instead of a stream": {
    script: text(tinyValues, "application/json"),
    streamed: true
  },
  "declares gzip and sends NUL bytes without an end": {
    script: script({ headers: { "content-encoding": "gzip" }, steps: [flood("\0".repeat(MIB))] })
  },
  "sends a chunk extension without an end": {
    script: withoutHead(raw(`${HEAD}1;`), rawFlood("x".repeat(MIB))),
    maxBytes: ONLY_TIME
  },
  "sends trailers without an end": {
    script: withoutHead(raw(`${HEAD}1\r\n{\r\n0\r\n`), rawFlood("x: y\r\n".repeat(1_000)))
  },
  "sends a chunk size that is not a number": { script: withoutHead(raw(`${HEAD}zz\r\n{}\r\n0\r\n\r\n`)) },
  "sends both a content length and chunks": {
    script: withoutHead(raw(HEAD.replace("\r\n\r\n", "\r\ncontent-length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n")))
  },
  "streams a line without an end": { script: script({ steps: [word, flood("x".repeat(MIB))] }), streamed: true },
  "streams an event without an end": {
    script: script({ steps: [word, flood(`data: ${"x".repeat(MIB)}\n`)] }),
    streamed: true
  },
  "streams comments without an end": {
    script: script({ steps: [word, flood(": x\n\n".repeat(50_000))] }),
    streamed: true
  },
  "streams pings without an end": {
    script: script({ steps: [word, flood('data: {"type":"ping"}\n\n'.repeat(1_000))] }),
    streamed: true
  },
  "streams empty lines without an end": { script: script({ steps: [word, flood("\n".repeat(MIB))] }), streamed: true },
  "streams an event byte by byte": {
    script: script({ steps: [word, bytes("data: "), again(bytes("x"), 20)] }),
    streamed: true
  },
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status) => [
      `redirects with status ${status}`,
      { script: text("", "text/html", status, { location: "/v1/elsewhere" }) } satisfies Attack
    ])
  )
}

describe("a provider that", () => {
  it.each(Object.entries(attacks))("%s causes one error for the client", async (_, attack) => {
    const { script: attackScript, streamed = false, code = "upstream_error", maxBytes = 32 * MIB } = attack
    const responseBytes = attackScript.framing === "length" ? 64 * MIB : MIB
    const gateway = await start({ responseBytes }, shortTimeouts)
    upstream.next(attackScript)
    const response = await post(gateway.url, hello({ stream: streamed }))
    const body = await response.text()
    const request = await upstream.received()
    await Promise.race([request.left, request.over])
    expect(body.split(`"code":"${code}"`)).toHaveLength(2)
    expect(body).not.toContain("[DONE]")
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    expect(response.status).toBe(isStream ? 200 : code === "upstream_error" ? 502 : 400)
    expect(request.sentBytes()).toBeLessThan(maxBytes + IN_TRANSIT_BYTES)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe("the gateway", () => {
  it("ends the client's stream once if a provider ends its stream twice", async () => {
    const gateway = await start()
    const frames = chatFrames({ content: ["a"], usage: usage(1, 1) })
    upstream.next({ ...stream(frames), steps: [...stream(frames).steps, done, word, ...stream(frames).steps, done] })
    const body = await (await post(gateway.url, hello({ stream: true }))).text()
    expect(body.split("[DONE]")).toHaveLength(2)
    expect(body.endsWith("data: [DONE]\n\n")).toBe(true)
    expect(body.split('"content":"a"')).toHaveLength(2)
  })

  it("ignores the trailers of a whole response", async () => {
    const gateway = await start()
    const body = JSON.stringify(completion({ content: ["a"], usage: usage(1, 1) }))
    const trailers = "x-cost: 7\r\nx-usage: 9\r\n\r\n"
    upstream.next(withoutHead(raw(`${HEAD}${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}`)))
    const response = await post(gateway.url, hello())
    expect([response.status, response.headers.get("x-cost")]).toEqual([200, null])
    expect(await response.text()).not.toMatch(/x-cost|x-usage/)
  })

  it("stores no chunk beyond the provider's memory limit", async () => {
    const upstreams = new FakeUpstreams()
    const gateway = await start({ upstreams: upstreams.layer, providerBytes: 2 * MIB })
    const stored: Array<number> = []
    const { push } = CollectedBody.prototype
    const spy = vi.spyOn(CollectedBody.prototype, "push").mockImplementation(function (this: CollectedBody, chunk) {
      push.call(this, chunk)
      stored.push(this.bytes)
    })
    const response = post(gateway.url, hello()).then((refused) => refused.text())
    const exchange = (await upstreams.next()).head(200)
    stored.length = 0
    for (let i = 0; i < 40; i++) exchange.data("x".repeat(40 * KIB))
    exchange.data("x".repeat(6 * MIB))
    spy.mockRestore()
    expect(await response).toContain('"code":"upstream_error"')
    expect(stored).toHaveLength(40)
    expect(Math.max(...stored)).toBe(1_600 * KIB)
    expect(gateway.logged.filter((line) => line.includes("use too much memory"))).toHaveLength(1)
  })

  it("relays a provider's stream while another provider is at its memory limit", async () => {
    const upstreams = new FakeUpstreams()
    const both = catalogOf({ timeouts: longTimeouts }, { timeouts: longTimeouts })
    const models = new Map(
      ["hostile", "good"].map((publicName, i) => [
        publicName,
        aModel({ publicName, routes: both.models.get("m")?.routes.slice(i, i + 1) ?? [] })
      ])
    )
    const gateway = await start({ upstreams: upstreams.layer, providerBytes: 8 * MIB, catalog: { ...both, models } })
    const send = async (model: string) => (await post(gateway.url, hello({ model, stream: true }))).text()
    const attacked: Array<Promise<string>> = []
    // The limit of 8 MiB has room for one unfinished line of 6 MiB.
    for (let i = 0; i < 12; i++) {
      attacked.push(send("hostile"))
      ;(await upstreams.next()).stream().data("x".repeat(6 * MIB))
    }
    const served = send("good")
    const good = (await upstreams.next()).stream()
    for (const frame of chatFrames({ content: ["fine"], usage: usage(1, 1) })) good.event(frame)
    good.data("data: [DONE]\n\n")
    expect(await served).toContain("[DONE]")
    const refused = await Promise.all(attacked.slice(1))
    for (const body of refused) expect(body).toContain('"code":"upstream_error"')
    expect(gateway.logged.filter((line) => line.includes("use too much memory"))).toHaveLength(refused.length)
    upstreams.exchanges[0]?.end()
    expect(await attacked[0]).toContain('"code":"upstream_error"')
  })
})
