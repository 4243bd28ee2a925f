import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../../support/ScriptedUpstream.ts"
import { chatFrames, chunk, completion, errorBody, usage, usageChunk } from "../../../support/upstream/ChatWire.ts"
import {
  bytes,
  cut,
  done,
  event,
  inPieces,
  json,
  reset,
  type Step,
  script,
  signal,
  stall,
  stream,
  until,
  wait
} from "../../../support/upstream/Script.ts"
import { FakeUpstreams } from "./FakeUpstreams.ts"
import { contents, hello, helloStream, post, RawClient } from "./RawClient.ts"
import { catalogOf, closeGateways, eventually, noResources, startGateway } from "./TestGateway.ts"

const scripted: Array<ScriptedUpstream> = []
const anUpstream = async () => {
  const upstream = await ScriptedUpstream.start()
  scripted.push(upstream)
  return upstream
}

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
  for (const upstream of scripted.splice(0)) await upstream.close()
})

const delta = (content: string): Step => event(chunk({ content }))

/** Starts a gateway with one provider that responds with these steps. */
const startWith = async (steps: ReadonlyArray<Step>, options: object = {}) => {
  const upstream = await anUpstream()
  upstream.next(script({ steps }))
  const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }), ...options })
  return { upstream, gateway }
}

describe("a stream", () => {
  it("is settled with the reported usage", async () => {
    const { gateway } = await startWith([
      ...chatFrames({ content: ["a", "b"] }).map(event),
      event(usageChunk(usage(5, 2))),
      done
    ])
    const response = await post(gateway.url, hello({ stream: true, stream_options: { include_usage: true } }))
    const text = await response.text()
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8")
    expect(response.headers.get("x-accel-buffering")).toBe("no")
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform")
    expect(contents(text)).toEqual(["a", "b"])
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true)
    await eventually(() => gateway.journal.settled.length === 1)
    const [settled] = gateway.journal.settled
    expect([settled?.ending, settled?.charge.charged.input, settled?.charge.charged.output]).toEqual([
      "complete",
      5n,
      2n
    ])
  })

  it("is complete for the client before it is settled", async () => {
    const { gateway } = await startWith([delta("a"), event(chunk({}, "stop")), done])
    const settling = signal()
    gateway.journal.beforeCounting = Effect.promise(() => settling.fired)
    await (await post(gateway.url, helloStream)).text()
    expect(gateway.journal.settled).toEqual([])
    settling.fire()
    await eventually(() => gateway.journal.settled.length === 1, "the settlement")
  })

  it("is decoded from chunks of one byte", async () => {
    const frames = [chunk({ content: "grüße" }), chunk({ content: "日本" }), chunk({}, "stop")]
    const { gateway } = await startWith([
      inPieces(1, frames.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")),
      done
    ])
    expect(contents(await (await post(gateway.url, helloStream)).text())).toEqual(["grüße", "日本"])
  })

  it("has no chunked transfer-encoding for an HTTP/1.0 client", async () => {
    const upstream = await anUpstream()
    upstream.always(script({ steps: [delta("é"), delta("b"), event(chunk({}, "stop")), done] }))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const old = await RawClient.connect(gateway.port)
    const body = JSON.stringify(helloStream)
    old.send(
      `POST /v1/chat/completions HTTP/1.0\r\nx-api-key: tg_the_good_key\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    await old.untilClosed()
    expect(old.text).not.toMatch(/transfer-encoding/i)
    expect(old.text.endsWith("}\n\ndata: [DONE]\n\n")).toBe(true)
    expect(contents(Buffer.from(old.text, "latin1").toString("utf8"))).toEqual(["é", "b"])
  })

  it("is requested after the stream of an earlier pipelined request has ended", async () => {
    const upstream = await anUpstream()
    const go = signal()
    upstream.next(
      script({ steps: [delta("first"), until(go), event(chunk({}, "stop")), done] }),
      script({ steps: [delta("second"), event(chunk({}, "stop")), done] })
    )
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.untilText("first")
    client.sendChat(helloStream)
    await upstream.received()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(upstream.requests).toHaveLength(1)
    go.fire()
    await client.until(({ text }) => text.split("data: [DONE]").length === 3, "the ends of both streams")
    expect(contents(client.text)).toEqual(["first", "second"])
    await eventually(() => gateway.journal.settled.length === 2)
    expect(gateway.journal.settled.map(({ ending }) => ending)).toEqual(["complete", "complete"])
    client.disconnect()
  })

  it("is built from a whole response if the provider sends no stream", async () => {
    const upstream = await anUpstream()
    upstream.next(json(completion({ content: ["whole"], usage: usage(2, 1) })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text)).toEqual(["whole"])
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true)
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]?.ending).toBe("complete")
  })

  it("reuses the provider connection of an earlier stream", async () => {
    const upstream = await anUpstream()
    upstream.always(stream(chatFrames()))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    for (let i = 0; i < 3; i++) {
      await (await post(gateway.url, helloStream)).text()
      await eventually(() => gateway.counters.openExchanges === 0)
    }
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([1, 1, 1])
  })

  it("ends after [DONE] if the provider does not close its stream", async () => {
    const { upstream, gateway } = await startWith([delta("a"), event(chunk({}, "stop")), done, delta("more"), stall])
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text)).toEqual(["a"])
    await (await upstream.received()).left
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]?.ending).toBe("complete")
  })
})

describe("the delivered content", () => {
  it.each([0, 1, 2, 3])("is the part that the client received before it disconnected: %i deltas", async (count) => {
    const go = signal()
    const words = ["one", "three", "fiver"].slice(0, count)
    const { upstream, gateway } = await startWith([
      event(chunk({ role: "assistant" })),
      ...words.map(delta),
      until(go),
      stall
    ])
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.until(({ text }) => contents(text).length === count && text.includes("assistant"))
    const request = await upstream.received()
    const disconnectedAt = performance.now()
    client.disconnect()
    await request.left
    expect(performance.now() - disconnectedAt).toBeLessThan(1_000)
    await eventually(() => gateway.journal.settled.length === 1)
    const [settled] = gateway.journal.settled
    expect(settled?.ending).toBe("client_gone")
    expect(settled?.charge.charged.output).toBe(BigInt(words.join("").length))
    expect(gateway.counters.deltas).toBe(count)
  })

  it("is the part that was written before the provider reset the connection", async () => {
    const { gateway } = await startWith([delta("one"), delta("two"), reset])
    const text = await (await post(gateway.url, helloStream)).text()
    expect(text).toContain('"error":{')
    expect(text).not.toContain("[DONE]")
    await eventually(() => gateway.journal.settled.length === 1)
    const [settled] = gateway.journal.settled
    expect([settled?.ending, settled?.charge.charged.output]).toEqual([
      "upstream_cut",
      BigInt(contents(text).join("").length)
    ])
  })
})

describe("a keepalive", () => {
  const quick = { keepaliveSeconds: 0.06, tickMillis: 10 }
  const keepalivesIn = (text: string) => text.split(": keepalive\n\n").length - 1

  it("is sent before and after the first token", async () => {
    const first = signal()
    const second = signal()
    const { gateway } = await startWith(
      [until(first), delta("a"), until(second), event(chunk({}, "stop")), done],
      quick
    )
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.until(({ text }) => keepalivesIn(text) >= 2, "two keepalives before the first token")
    expect(contents(client.text)).toEqual([])
    first.fire()
    await client.untilText('"a"')
    const before = keepalivesIn(client.text)
    await client.until(({ text }) => keepalivesIn(text) > before, "a keepalive after the first token")
    second.fire()
    await client.untilText("[DONE]")
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]?.charge.charged.output).toBe(1n)
    client.disconnect()
  })

  it("is not written inside a frame that arrives in two parts", async () => {
    const half = signal()
    const whole = `data: ${JSON.stringify(chunk({ content: "whole" }))}\n\n`
    const { gateway } = await startWith(
      [bytes(whole.slice(0, 30)), until(half), bytes(whole.slice(30)), event(chunk({}, "stop")), done],
      quick
    )
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.until(({ text }) => keepalivesIn(text) >= 1)
    half.fire()
    await client.untilText("[DONE]")
    expect(contents(client.text)).toEqual(["whole"])
    client.disconnect()
  })

  it("is not sent while tokens arrive within the keepalive interval", async () => {
    const steps = Array.from({ length: 12 }, () => [delta("x"), wait(15)]).flat()
    const { gateway } = await startWith([...steps, event(chunk({}, "stop")), done], {
      keepaliveSeconds: 0.15,
      tickMillis: 10
    })
    const text = await (await post(gateway.url, helloStream)).text()
    expect(keepalivesIn(text)).toBe(0)
  })

  it("prevents an attempt on another route", async () => {
    const go = signal()
    const upstream = await anUpstream()
    const other = await anUpstream()
    upstream.next(script({ steps: [until(go), cut] }))
    const gateway = await startGateway({
      catalog: catalogOf({ baseUrl: upstream.baseUrl }, { baseUrl: other.baseUrl }),
      ...quick
    })
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.until(({ text }) => keepalivesIn(text) >= 1)
    go.fire()
    await client.untilText('"code":"upstream_error"')
    expect(other.requests).toEqual([])
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]?.ending).toBe("failed")
    client.disconnect()
  })
})

describe("a stream that is cut", () => {
  it.each([
    ["zero usage in every chunk", usage(0, 0), usage(0, 0)],
    ["only prompt tokens in the first chunk", usage(12, 0), undefined],
    ["prompt and output tokens in the first chunk", usage(12, 1), undefined]
  ])("is charged for the delivered part if the provider reported %s", async (_, first, later) => {
    const upstream = await anUpstream()
    const chunks = ["a", "b", "c"].map((content, i) => ({ ...chunk({ content }), usage: i === 0 ? first : later }))
    upstream.next(script({ steps: [...chunks.map((each) => event(each)), cut] }))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }) })
    expect(contents(await (await post(gateway.url, helloStream)).text())).toEqual(["a", "b", "c"])
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]).toMatchObject({
      ending: "upstream_cut",
      charge: { charged: { input: 12n, output: 3n }, consumed: { input: 12n, output: 3n } }
    })
  })
})

describe("another route", () => {
  it.each([
    ["returns status 503", json(errorBody("down"), 503)],
    ["rate-limits the gateway", json(errorBody("slow down"), 429)],
    ["refuses the gateway's API key", json(errorBody("who are you"), 401)],
    ["closes the connection before its first event", script({ steps: [cut] })],
    ["ends the stream without content", script({ steps: [done] })],
    ["sends an error as its first event", script({ steps: [event({ error: { message: "overloaded", type: "x" } })] })]
  ])("is tried if the first provider %s", async (_, failing) => {
    const first = await anUpstream()
    const second = await anUpstream()
    first.next(failing)
    second.next(stream(chatFrames({ content: ["ok"], usage: usage(1, 1) })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }) })
    const response = await post(gateway.url, helloStream)
    expect([response.status, contents(await response.text())]).toEqual([200, ["ok"]])
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.admitted).toHaveLength(1)
    expect(second.requests[0]?.json()).toMatchObject({ model: "m-1" })
  })

  it("is charged without the usage that the first provider reported", async () => {
    const first = await anUpstream()
    const second = await anUpstream()
    const limited = { error: { message: "slow down", code: 429, type: "rate_limit_error" } }
    first.next(script({ steps: [event({ choices: [], usage: usage(100_000, 50_000) }), event(limited)] }))
    second.next(stream(chatFrames({ content: ["ok"] })))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }) })
    expect(contents(await (await post(gateway.url, helloStream)).text())).toEqual(["ok"])
    await eventually(() => gateway.journal.settled.length === 1)
    expect(gateway.journal.settled[0]?.charge).toMatchObject({ charged: { input: 12n, output: 2n }, source: "local" })
  })

  it("is tried if the connection to the first provider is refused", async () => {
    const second = await anUpstream()
    second.next(stream(chatFrames({ content: ["ok"] })))
    const gateway = await startGateway({
      catalog: catalogOf({ baseUrl: await unusedAddress() }, { baseUrl: second.baseUrl })
    })
    expect(contents(await (await post(gateway.url, helloStream)).text())).toEqual(["ok"])
  })

  it.each([
    ["rejects the request as invalid", json(errorBody("too long"), 400), 400],
    ["rejects the request as too large", json(errorBody("too large"), 413), 413]
  ])("is not tried if the first provider %s", async (_, refusal, status) => {
    const first = await anUpstream()
    const second = await anUpstream()
    first.next(refusal)
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }) })
    expect((await post(gateway.url, helloStream)).status).toBe(status)
    expect(second.requests).toEqual([])
  })

  it("is not tried after a token was delivered", async () => {
    const first = await anUpstream()
    const second = await anUpstream()
    first.next(script({ steps: [delta("a"), cut] }))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }) })
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text)).toEqual(["a"])
    expect(text).toContain('"code":"upstream_error"')
    expect(second.requests).toEqual([])
  })

  it("that fails too causes status 502", async () => {
    const first = await anUpstream()
    const second = await anUpstream()
    first.next(script({ steps: [done] }))
    second.next(script({ steps: [cut] }))
    const gateway = await startGateway({ catalog: catalogOf({ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }) })
    const response = await post(gateway.url, helloStream)
    expect([response.status, response.headers.get("content-type")]).toEqual([502, "application/json"])
  })
})

describe("a timeout", () => {
  const timed = async (timeouts: object) => {
    const upstreams = new FakeUpstreams()
    const gateway = await startGateway({
      catalog: catalogOf(
        { timeouts: { firstByteMillis: 10_000, idleMillis: 10_000, totalMillis: 10_000, ...timeouts } },
        {}
      ),
      upstreams: upstreams.layer,
      tickMillis: 10
    })
    return { upstreams, gateway }
  }

  it("for the first byte prevents another attempt", async () => {
    const { upstreams, gateway } = await timed({ firstByteMillis: 40 })
    const response = await post(gateway.url, helloStream)
    expect([response.status, upstreams.exchanges.map(({ verdict }) => verdict)]).toEqual([502, ["failed"]])
  })

  it("for silence between events is not reset by SSE comments", async () => {
    const { upstreams, gateway } = await timed({ idleMillis: 60 })
    const pending = post(gateway.url, helloStream)
    const exchange = (await upstreams.next()).stream()
    exchange.event(chunk({ content: "a" }))
    const comments = setInterval(() => exchange.data(": still here\n\n"), 10)
    const text = await (await pending).text()
    clearInterval(comments)
    expect([contents(text), text.includes("upstream_error")]).toEqual([["a"], true])
    expect(exchange.verdict).toBe("failed")
  })

  it("for the whole response expires while events arrive", async () => {
    const { upstreams, gateway } = await timed({ totalMillis: 80 })
    const pending = post(gateway.url, helloStream)
    const exchange = (await upstreams.next()).stream()
    const deltas = setInterval(() => exchange.event(chunk({ content: "a" })), 10)
    expect(await (await pending).text()).toContain("upstream_error")
    clearInterval(deltas)
    expect(exchange.verdict).toBe("failed")
  })

  it("for the body of a refusal does not change the status", async () => {
    const { upstreams, gateway } = await timed({ idleMillis: 40 })
    const pending = post(gateway.url, hello())
    const exchange = (await upstreams.next()).head(400)
    exchange.data('{"error":{"message":"half a sen')
    expect((await pending).status).toBe(400)
    expect(exchange.verdict).toBe("served")
  })
})
