/** The ledger in these tests has one token plan. Each character counts as one token. */
import { CircuitOpen, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { ScriptedUpstream } from "../../../support/ScriptedUpstream.ts"
import { chunk, completion, usage, usageChunk } from "../../../support/upstream/ChatWire.ts"
import {
  bytes,
  cut,
  done,
  event,
  json,
  reset,
  type Step,
  script,
  signal,
  stall,
  until,
  wait
} from "../../../support/upstream/Script.ts"
import { FakeUpstreams } from "./FakeUpstreams.ts"
import { contents, hello, helloStream, post, RawClient } from "./RawClient.ts"
import { catalogOf, closeGateways, eventually, noResources, planOf, startGateway } from "./TestGateway.ts"

const scripted: Array<ScriptedUpstream> = []

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
  for (const upstream of scripted.splice(0)) await upstream.close()
})

const delta = (content: string): Step => event(chunk({ content }))
const stop: ReadonlyArray<Step> = [event(chunk({}, "stop")), done]
const WORD = "0123456789"
const words = (count: number): ReadonlyArray<Step> => Array.from({ length: count }, () => delta(WORD))

const startWith = async (steps: ReadonlyArray<Step>, options: object = {}) => {
  const upstream = await ScriptedUpstream.start()
  scripted.push(upstream)
  upstream.always(script({ steps }))
  const gateway = await startGateway({ catalog: catalogOf({ baseUrl: upstream.baseUrl }), ...options })
  return { upstream, gateway, journal: gateway.journal }
}

describe("a stream with a sufficient balance", () => {
  it("is delivered completely while its hold grows", async () => {
    const { gateway, journal } = await startWith([...words(2_000), ...stop])
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text).join("")).toBe(WORD.repeat(2_000))
    await eventually(() => journal.settled.length === 1)
    expect(journal.extensions.length).toBeGreaterThan(1)
    expect(journal.plan.debitsPending).toBe(0n)
    expect(journal.settled[0]?.charge.charged.output).toBe(20_000n)
  })

  it("can contain a frame that is larger than a slice", async () => {
    const { gateway } = await startWith([delta(WORD.repeat(10_000)), ...stop])
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text).join("").length).toBe(100_000)
  })
})

describe("a stream with a limited balance", () => {
  it("is cut with the error insufficient_balance", async () => {
    const { upstream, gateway, journal } = await startWith([...words(10_000), stall])
    journal.plan = planOf(3_000n)
    const text = await (await post(gateway.url, helloStream)).text()
    const delivered = contents(text).join("").length
    expect(text).toContain('"code":"insufficient_balance"')
    expect(text).not.toContain("[DONE]")
    await (await upstream.received()).left
    await eventually(() => journal.settled.length === 1)
    const [settled] = journal.settled
    expect(settled?.ending).toBe("balance_exhausted")
    expect(settled?.charge.charged.output).toBe(BigInt(delivered))
    expect(journal.writtenOffPico).toBe(0n)
    // The next word would have cost more than the remaining balance.
    const remaining = journal.plan.creditsPosted - journal.plan.debitsPosted
    expect(remaining).toBeGreaterThanOrEqual(0n)
    expect(remaining).toBeLessThan(BigInt(WORD.length))
  })

  it("is cut before a frame that exceeds the balance", async () => {
    const { gateway, journal } = await startWith([delta("cheap"), delta(WORD.repeat(1_000)), ...stop])
    journal.plan = planOf(2_000n)
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text)).toEqual(["cheap"])
    expect(text).toContain('"code":"insufficient_balance"')
    await eventually(() => journal.settled.length === 1)
    expect(journal.writtenOffPico).toBe(0n)
  })

  it("is refused with 402 if its first frame exceeds the balance", async () => {
    const { gateway, journal } = await startWith([delta(WORD.repeat(1_000)), ...stop])
    journal.plan = planOf(500n)
    const response = await post(gateway.url, helloStream)
    expect([response.status, (await response.json()).error.code]).toEqual([402, "insufficient_balance"])
    await eventually(() => journal.settled.length === 1)
    expect([journal.settled[0]?.ending, journal.plan.debitsPosted]).toEqual(["failed", 0n])
  })

  it("is complete if it costs exactly the balance", async () => {
    const { gateway, journal } = await startWith([delta(WORD), delta(WORD), ...stop])
    const probe = await post(gateway.url, helloStream)
    await probe.text()
    await eventually(() => journal.settled.length === 1)
    journal.plan = planOf(journal.plan.debitsPosted)
    const text = await (await post(gateway.url, helloStream)).text()
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true)
    await eventually(() => journal.settled.length === 2)
    expect(journal.plan.debitsPosted).toBe(journal.plan.creditsPosted)
    expect(journal.writtenOffPico).toBe(0n)
  })

  it("causes a write-off if its reported usage exceeds the balance", async () => {
    const { gateway, journal } = await startWith([
      delta("a"),
      event(chunk({}, "stop")),
      event(usageChunk(usage(5, 9_000))),
      done
    ])
    journal.plan = planOf(2_000n)
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text)).toEqual(["a"])
    await eventually(() => journal.settled.length === 1)
    expect(journal.settled[0]?.charge.charged).toMatchObject({ input: 5n, output: 9_000n })
    expect(journal.plan.debitsPosted).toBe(2_000n)
    // Each token costs 1,000 pico-USD, and the plan covers 2,000 of the 9,005 tokens.
    expect(journal.writtenOffPico).toBe(7_005_000n)
  })
})

describe("ten parallel streams of a customer", () => {
  it("together cost at most the balance", async () => {
    const { gateway, journal } = await startWith([...words(5_000), stall])
    journal.plan = planOf(30_000n)
    const texts = await Promise.all(
      Array.from({ length: 10 }, async () => (await post(gateway.url, helloStream)).text())
    )
    await eventually(() => journal.settled.length === journal.admitted.length)
    const delivered = texts.map((text) => contents(text).join("").length).reduce((a, b) => a + b, 0)
    const charged = journal.settled.reduce((sum, { charge }) => sum + charge.charged.output, 0n)
    expect(charged).toBe(BigInt(delivered))
    expect(journal.writtenOffPico).toBe(0n)
    expect(journal.plan.debitsPosted).toBeLessThanOrEqual(30_000n)
    expect(journal.plan.debitsPending).toBe(0n)
  })
})

describe("a stream whose hold cannot be extended", () => {
  it("ends with overloaded after the write timeout", async () => {
    const { gateway, journal } = await startWith([...words(1_000), stall], { writeStallSeconds: 0.3 })
    journal.extensionRefusal = new Overloaded({ retryAfterSeconds: 1 })
    const begun = performance.now()
    const text = await (await post(gateway.url, helloStream)).text()
    expect(performance.now() - begun).toBeGreaterThan(250)
    expect(text).toContain('"code":"overloaded"')
    const delivered = contents(text).join("").length
    expect(delivered).toBeGreaterThan(900)
    // The hold sets aside the input limit. The rest of this amount can be used after the prompt was counted.
    const promptTokens = Number(journal.admitted[0]?.estimate.inputLimit)
    expect(delivered).toBeLessThanOrEqual(promptTokens + 1_024)
    await eventually(() => journal.settled.length === 1)
    expect(journal.settled[0]).toMatchObject({ ending: "upstream_cut" })
    expect(journal.settled[0]?.charge.charged.output).toBe(BigInt(delivered))
  })

  it("continues when a later extension succeeds", async () => {
    const { gateway, journal } = await startWith([...words(1_000), ...stop], { writeStallSeconds: 5 })
    journal.extensionRefusal = new Overloaded({ retryAfterSeconds: 1 })
    setTimeout(() => {
      journal.extensionRefusal = undefined
    }, 300)
    const text = await (await post(gateway.url, helloStream)).text()
    expect(contents(text).join("").length).toBe(10_000)
  })
})

describe("a stream that another node has settled", () => {
  it("ends with overloaded", async () => {
    const settled = signal()
    const { gateway, journal } = await startWith([delta("a"), until(settled), ...words(1_000), stall])
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.untilText('"content":"a"')
    journal.holds.clear()
    settled.fire()
    await client.untilText('"code":"overloaded"')
    await eventually(() => journal.settled.length === 1)
    client.socket.destroy()
  })

  it("ends before its next frame", async () => {
    const settled = signal()
    // The last of these words requests the next slice. The hold still covers the words themselves.
    const steps = [delta("a"), until(settled), ...words(53), wait(100), delta(WORD), stall]
    const { gateway, journal } = await startWith(steps)
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await client.untilText('"content":"a"')
    journal.holds.clear()
    settled.fire()
    await client.untilText('"code":"overloaded"')
    expect(contents(client.text).length).toBe(54)
    await eventually(() => journal.settled.length === 1)
    client.socket.destroy()
  })
})

describe("a request without a durable hold", () => {
  const startBeforeHold = async (steps: ReadonlyArray<Step>, options: object = {}) => {
    const durable = signal()
    const started = await startWith(steps, options)
    started.journal.isAmple = true
    started.journal.beforeAdmission = Effect.promise(() => durable.fired)
    return { ...started, durable }
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 80))
  const frames = (...chunks: ReadonlyArray<object>) =>
    chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")
  const deltas = bytes(frames(chunk({ content: "a" }), chunk({ content: "b" })))
  const whole = bytes(`${frames(chunk({ content: "a" }), chunk({ content: "b" }), chunk({}, "stop"))}data: [DONE]\n\n`)

  it("is sent to its provider if the balance is ample", async () => {
    const { upstream, gateway, durable } = await startBeforeHold([delta("a"), delta("b"), ...stop])
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await (await upstream.received()).over
    await pause()
    expect(client.text).toBe("")
    durable.fire()
    await client.untilText("[DONE]")
    expect(contents(client.text)).toEqual(["a", "b"])
    client.socket.destroy()
  })

  it.each<[string, string, ReadonlyArray<Step>]>([
    ["one chunk", "resets", [whole, wait(40), reset]],
    ["one chunk", "closes", [whole, wait(40), cut]],
    ["several chunks", "resets", [deltas, wait(20), event(chunk({}, "stop")), wait(20), done, wait(40), reset]]
  ])("gets the complete stream if the provider sends it in %s and %s the connection", async (_, __, steps) => {
    const { upstream, gateway, durable, journal } = await startBeforeHold(steps)
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await (await upstream.received()).over
    await pause()
    expect(client.text).toBe("")
    durable.fire()
    await client.until(({ text }) => /\[DONE\]|error/.test(text), "the end of the stream")
    expect(contents(client.text)).toEqual(["a", "b"])
    expect(client.text).toContain("data: [DONE]")
    await eventually(() => journal.settled.length === 1)
    expect(journal.settled[0]).toMatchObject({ ending: "complete" })
    client.socket.destroy()
  })

  it("is not read further when too many events wait", async () => {
    const durable = signal()
    const upstreams = new FakeUpstreams()
    const { journal, url } = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer })
    journal.isAmple = true
    journal.beforeAdmission = Effect.promise(() => durable.fired)
    const pending = post(url, helloStream)
    const upstream = (await upstreams.next()).stream()
    let events = 1
    while (upstream.event(chunk({ content: WORD.repeat(100) })) && events < 1_000) events += 1
    expect(events).toBeGreaterThan(20)
    expect(events).toBeLessThan(40)
    durable.fire()
    const { body } = await pending
    upstream.event(chunk({}, "stop"))
    upstream.data("data: [DONE]\n\n")
    expect(contents(await new Response(body).text())).toHaveLength(events)
  })

  it("gets the deltas and an error if the provider resets the connection before [DONE]", async () => {
    const { upstream, gateway, durable, journal } = await startBeforeHold([deltas, wait(40), reset])
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await (await upstream.received()).over
    await pause()
    durable.fire()
    await client.untilText('"code":"upstream_error"')
    expect(contents(client.text)).toEqual(["a", "b"])
    await eventually(() => journal.settled.length === 1)
    expect(journal.settled[0]).toMatchObject({ ending: "upstream_cut", charge: { charged: { output: 2n } } })
    client.socket.destroy()
  })

  it("gets no keepalive", async () => {
    const { upstream, gateway, durable } = await startBeforeHold([stall], { keepaliveSeconds: 0.02, tickMillis: 10 })
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    await upstream.received()
    await pause()
    expect(client.text).toBe("")
    client.socket.destroy()
    durable.fire()
  })

  it("gets no whole response", async () => {
    const { upstream, gateway, durable, journal } = await startBeforeHold([])
    upstream.always(json(completion({ content: ["hi"], usage: usage(3, 4) })))
    const client = (await RawClient.connect(gateway.port)).sendChat(hello())
    await (await upstream.received()).over
    await pause()
    expect([client.text, journal.settled.length]).toEqual(["", 0])
    durable.fire()
    expect((await client.response()).status).toBe(200)
    client.socket.destroy()
  })

  describe("whose whole response arrives while the admission is deferred", () => {
    const hi = json(completion({ content: ["hi"], usage: usage(3, 4) }))
    const start = async (response: Parameters<ScriptedUpstream["always"]>[0] = hi) => {
      const started = await startBeforeHold([])
      started.upstream.always(response)
      // The admission waits for its response only.
      started.journal.deferredMillis = 60_000
      const client = (await RawClient.connect(started.gateway.port)).sendChat(hello())
      await (await started.upstream.received()).over
      await pause()
      expect([client.text, started.journal.settled.length]).toEqual(["", 0])
      return { ...started, client }
    }

    it("is admitted and settled together", async () => {
      const { client, durable, journal } = await start()
      durable.fire()
      expect(await client.response()).toMatchObject({ status: 200, body: expect.stringContaining('"hi"') })
      expect(journal.settledAtOnce).toBe(1)
      expect(journal.settled).toMatchObject([{ ending: "complete", charge: { charged: { input: 3n, output: 4n } } }])
      client.socket.destroy()
    })

    it("gets the refusal of its admission", async () => {
      const { client, durable, journal } = await start()
      journal.refusal = new InsufficientBalance()
      durable.fire()
      const { body, status } = await client.response()
      expect(status).toBe(402)
      expect(body).not.toContain('"hi"')
      expect(journal.settled).toEqual([])
      client.socket.destroy()
    })

    it("is not charged if the client disconnects before both are decided", async () => {
      const { client, durable, gateway, journal } = await start()
      client.socket.destroy()
      await eventually(() => gateway.counters.openRequests === 1)
      await pause()
      durable.fire()
      await eventually(() => journal.settled.length === 1)
      expect(journal.settled).toMatchObject([{ ending: "client_gone", charge: { charged: { input: 0n, output: 0n } } }])
      expect(journal.settledAtOnce).toBe(1)
    })

    it("waits for its hold only if its tokens must be counted", async () => {
      const { client, durable, journal } = await start(json(completion({ content: ["hi"], usage: undefined })))
      durable.fire()
      expect((await client.response()).status).toBe(200)
      expect(journal.settled).toMatchObject([{ ending: "complete", charge: { source: "local" } }])
      expect([journal.admitted.length, journal.settledAtOnce]).toEqual([1, 0])
      client.socket.destroy()
    })

    it("gets the error of its provider", async () => {
      const rejected = { status: 400, body: { error: { message: "bad", type: "invalid_request_error" } } }
      const { client, durable, journal } = await start(json(rejected.body, rejected.status))
      durable.fire()
      expect((await client.response()).status).toBe(400)
      expect(journal.settled).toMatchObject([{ ending: "failed" }])
      expect(journal.settledAtOnce).toBe(1)
      client.socket.destroy()
    })
  })

  it("is admitted and settled together if no provider can be called", async () => {
    const upstreams = new FakeUpstreams()
    const { journal, url } = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer })
    journal.isAmple = true
    journal.deferredMillis = 60_000
    upstreams.refusals.push(new CircuitOpen({ retryAfterSeconds: 9 }))
    expect((await post(url, hello())).status).toBe(503)
    expect(journal.settled).toMatchObject([{ ending: "failed" }])
    expect(journal.settledAtOnce).toBe(1)
  })

  const refusals: ReadonlyArray<[string, InsufficientBalance | Overloaded, number]> = [
    ["the balance is used up", new InsufficientBalance(), 402],
    ["the ledger is overloaded", new Overloaded({ retryAfterSeconds: 1 }), 503]
  ]
  it.each(refusals)("is refused if %s", async (_, refusal, status) => {
    const { upstream, gateway, durable, journal } = await startBeforeHold([delta("secret"), stall])
    journal.refusal = refusal
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    const request = await upstream.received()
    await pause()
    durable.fire()
    const response = await client.response()
    expect(response.status).toBe(status)
    expect(response.body).not.toContain("secret")
    await request.left
    expect(journal.settled).toEqual([])
    client.socket.destroy()
  })

  /** The body has far fewer tokens by its smallest estimate than by the local count. */
  const expensive = hello({ stream: true, messages: [{ role: "user", content: WORD.repeat(100) }] })

  it("is aborted at its provider if its hold does not cover its prompt", async () => {
    const { upstream, gateway, durable, journal } = await startBeforeHold([delta("a"), stall])
    journal.plan = planOf(400n)
    const client = (await RawClient.connect(gateway.port)).sendChat(expensive)
    const request = await upstream.received()
    durable.fire()
    expect((await client.response()).status).toBe(402)
    await request.left
    expect(journal.settled.map(({ ending, charge }) => [ending, charge.source])).toEqual([["failed", "none"]])
    client.socket.destroy()
  })

  it("is settled once if its provider fails while its prompt is counted", async () => {
    const counted = signal()
    const fail = signal()
    const { upstream, gateway, durable, journal } = await startBeforeHold([until(fail), cut])
    journal.plan = planOf(400n)
    journal.beforeCounting = Effect.promise(() => counted.fired)
    const client = (await RawClient.connect(gateway.port)).sendChat(expensive)
    await upstream.received()
    durable.fire()
    await eventually(() => journal.admitted.length === 1)
    fail.fire()
    expect((await client.response()).status).toBe(502)
    counted.fire()
    await pause()
    expect(journal.settled.length).toBe(1)
    client.socket.destroy()
  })

  it("is not charged if the client disconnects", async () => {
    const { upstream, gateway, durable, journal } = await startBeforeHold([delta("a"), stall])
    const client = (await RawClient.connect(gateway.port)).sendChat(helloStream)
    const request = await upstream.received()
    client.socket.destroy()
    await request.left
    expect(journal.settled).toEqual([])
    durable.fire()
    await eventually(() => journal.settled.length === 1)
    expect(journal.settled[0]?.charge.source).toBe("none")
    expect(journal.plan.debitsPending).toBe(0n)
  })
})

describe("a request whose prompt exceeds the balance", () => {
  const withParameters = (parameters: object) => ({
    tools: [{ type: "function", function: { name: "f", parameters } }]
  })

  // The bodies have far fewer tokens by their smallest estimate than by the local count.
  it.each([
    ["its messages", { messages: [{ role: "user", content: WORD.repeat(100) }] }],
    ["names in its tools", withParameters({ properties: { [WORD.repeat(100)]: {} } })],
    ["numbers in its tools", withParameters({ enum: Array.from({ length: 500 }, () => 1) })]
  ])("because of %s is refused before a provider is called", async (_, parts) => {
    const { upstream, gateway, journal } = await startWith([delta("a"), ...stop])
    journal.plan = planOf(400n)
    const response = await post(gateway.url, hello({ stream: true, ...parts }))
    expect([response.status, (await response.json()).error.code]).toEqual([402, "insufficient_balance"])
    expect(upstream.requests).toEqual([])
    await eventually(() => journal.settled.length === 1)
    expect(journal.plan.debitsPosted).toBe(0n)
  })
})
