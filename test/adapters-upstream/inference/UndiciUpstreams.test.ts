import * as UndiciUpstreams from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import type { UpstreamEvents, UpstreamHead, Upstreams, Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { Effect, Either, Exit, Logger, Redacted, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../support/ScriptedUpstream.ts"
import { aCandidate } from "../../support/upstream/Candidates.ts"
import { chatFrames, completion, usage } from "../../support/upstream/ChatWire.ts"
import {
  bytes,
  closeImmediately,
  cut,
  event,
  inPieces,
  json,
  raw,
  reset,
  resetImmediately,
  type Script,
  script,
  signal,
  silence,
  stall,
  stream,
  text,
  until
} from "../../support/upstream/Script.ts"
import { selfSigned } from "../../support/upstream/SelfSigned.ts"

const SECRET = "sk-secret-of-ours"

let upstream: ScriptedUpstream
let scope: Scope.CloseableScope
let upstreams: typeof Upstreams.Service
let logged: Array<string>

beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
  scope = Effect.runSync(Scope.make())
  const keys = (env: string) => (env === "PROVIDER_KEY" ? Redacted.make(SECRET) : undefined)
  logged = []
  const collect = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => logged.push(JSON.stringify(message)))
  )
  upstreams = await Effect.runPromise(UndiciUpstreams.make({ keys }).pipe(Scope.extend(scope), Effect.provide(collect)))
})

afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await upstream.close()
})

class RecordedExchange implements UpstreamEvents {
  readonly heads: Array<UpstreamHead> = []
  readonly chunks: Array<Buffer> = []
  readonly order: Array<string> = []
  broken: string | undefined
  acceptsData = true
  onNext: (() => void) | undefined
  #finish = () => {}
  readonly finished = new Promise<void>((resolve) => {
    this.#finish = resolve
  })

  readonly onHead = (head: UpstreamHead) => {
    this.order.push("head")
    this.heads.push(head)
    this.onNext?.()
  }
  readonly onData = (chunk: Buffer) => {
    if (this.order.at(-1) !== "data") this.order.push("data")
    this.chunks.push(Buffer.from(chunk))
    this.onNext?.()
    return this.acceptsData
  }
  readonly onEnd = () => {
    this.order.push("end")
    this.#finish()
  }
  readonly onBroken = (reason: string) => {
    this.order.push("broken")
    this.broken = reason
    this.#finish()
  }
  get body(): string {
    return Buffer.concat(this.chunks).toString("utf8")
  }
  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }
  /** Resolves when the condition is true. The condition is evaluated immediately and after each event. */
  when(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (condition()) resolve()
      }
      this.onNext = check
      check()
    })
  }
}

const request = { path: "/chat/completions", headers: { "content-type": "application/json" } }
const candidateAt = (baseUrl: string, parts: Parameters<typeof aCandidate>[0] = {}) => aCandidate({ baseUrl, ...parts })
const trySend = (candidate: Candidate, recorded: RecordedExchange, body = '{"model":"m"}', headers = request.headers) =>
  upstreams.send({ candidate, path: request.path, headers, body: Buffer.from(body) }, recorded)
const send = (candidate: Candidate, recorded: RecordedExchange, body?: string) =>
  Either.getOrThrowWith(trySend(candidate, recorded, body), (error) => error)

const exchange = async (scripted: Script, verdict: Verdict = "served", candidate = candidateAt(upstream.baseUrl)) => {
  upstream.next(scripted)
  const recorded = new RecordedExchange()
  const sent = send(candidate, recorded)
  await recorded.finished
  sent.close(verdict)
  return recorded
}

describe("an upstream request", () => {
  it("contains the provider's API key and the unchanged body", async () => {
    upstream.next(json(completion()))
    const recorded = new RecordedExchange()
    const body = '{"model":"m","big":12345678901234567890,"text":"héllo"}'
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      Authorization: "Bearer of a client",
      "X-Api-Key": "of a client"
    }
    const sent = trySend(candidateAt(upstream.baseUrl), recorded, body, headers)
    expect(Either.isRight(sent)).toBe(true)
    const received = await upstream.received()
    await recorded.finished
    expect(received.method).toBe("POST")
    expect(received.path).toBe("/v1/chat/completions")
    expect(received.body.toString()).toBe(body)
    expect(received.headers).toEqual({
      host: upstream.baseUrl.slice("http://".length, -"/v1".length),
      connection: "keep-alive",
      "accept-encoding": "identity",
      authorization: `Bearer ${SECRET}`,
      "content-type": "application/json",
      accept: "text/event-stream",
      "content-length": String(Buffer.byteLength(body))
    })
    expect(received.head.split(SECRET).length).toBe(2)
  })

  it("contains the provider's API key in x-api-key when the provider requires it", async () => {
    await exchange(json(completion()), "served", candidateAt(upstream.baseUrl, { auth: "x-api-key" }))
    const { headers } = await upstream.received()
    expect(headers["x-api-key"]).toBe(SECRET)
    expect(headers.authorization).toBeUndefined()
  })

  it("has an API key that `containsApiKey` finds in a text", () => {
    const found = (text: string, apiKeyEnv = "PROVIDER_KEY") =>
      upstreams.containsApiKey(text, [aCandidate({ apiKeyEnv }).provider])
    expect([found(`bad key ${SECRET}!`), found("bad key"), found(`bad key ${SECRET}`, "OTHER_KEY")]).toEqual([
      true,
      false,
      false
    ])
  })

  it("is not sent if the provider's API key is not set", () => {
    const refused = trySend(candidateAt(upstream.baseUrl, { apiKeyEnv: "OTHER_KEY" }), new RecordedExchange())
    expect(Either.getOrThrow(Either.flip(refused))._tag).toBe("UpstreamFailed")
    expect(upstream.requests).toEqual([])
  })

  it("fails immediately if its path cannot be encoded", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    const recorded = new RecordedExchange()
    const refused = upstreams.send(
      { candidate: one, path: "/bad path\n", headers: {}, body: Buffer.from("{}") },
      recorded
    )
    expect(Either.getOrThrow(Either.flip(refused))._tag).toBe("UpstreamFailed")
    expect(recorded.order).toEqual([])
    await exchange(json(completion()), "served", one)
  })

  it("reuses a keep-alive connection", async () => {
    await exchange(json(completion()))
    await new Promise(setImmediate)
    await exchange(json(completion()))
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([1, 1])
  })

  it("is sent on a separate connection while other requests are open", async () => {
    const many = 300
    const all = signal()
    upstream.always(script({ steps: [event({ n: 1 }), until(all), event({ n: 2 })] }))
    const candidate = candidateAt(upstream.baseUrl, { maxConcurrency: many })
    const recordings = Array.from({ length: many }, () => new RecordedExchange())
    const sents = recordings.map((recorded) => send(candidate, recorded))
    expect(Either.getOrThrow(Either.flip(trySend(candidate, new RecordedExchange())))._tag).toBe("Overloaded")
    // Every stream begins before one of them ends.
    await Promise.all(recordings.map((recorded) => recorded.when(() => recorded.chunks.length > 0)))
    expect(upstream.openConnections).toBe(many)
    all.fire()
    await Promise.all(recordings.map(({ finished }) => finished))
    for (const sent of sents) sent.close("served")
    expect(recordings.every(({ broken }) => broken === undefined)).toBe(true)
  })
})

describe("an upstream response", () => {
  it("arrives as head, data and end, in this order", async () => {
    const frames = chatFrames({ content: ["a", "b"], usage: usage(3, 2) })
    const recorded = await exchange(stream(frames))
    expect(recorded.order).toEqual(["head", "data", "end"])
    expect(recorded.heads).toEqual([{ status: 200, contentType: "text/event-stream", retryAfter: undefined }])
    expect(recorded.body).toBe(
      `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`
    )
  })

  it("arrives completely when the upstream sends single bytes", async () => {
    const body = `data: {"text":"世界"}\n\n`
    const recorded = await exchange(script({ steps: [inPieces(1, body)] }))
    expect(recorded.body).toBe(body)
    expect(recorded.broken).toBeUndefined()
  })

  it("without a length arrives completely", async () => {
    const recorded = await exchange(
      script({ framing: "until close", steps: [bytes("data: 1\n\n"), bytes("data: 2\n\n")] })
    )
    expect(recorded.body).toBe("data: 1\n\ndata: 2\n\n")
    expect(recorded.order).toEqual(["head", "data", "end"])
  })

  it("is passed on with its status", async () => {
    const limited = await exchange(json({}, 429, { "retry-after": "7" }))
    expect(limited.heads).toEqual([{ status: 429, contentType: "application/json", retryAfter: "7" }])
  })

  it("is not followed if it is a redirect", async () => {
    const moved = await exchange(text("", "text/html", 302, { location: `${upstream.baseUrl}/elsewhere` }))
    expect(moved.heads[0]?.status).toBe(302)
    expect(upstream.requests.length).toBe(1)
  })

  it("is passed on without earlier interim responses", async () => {
    const interim = raw("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    const recorded = await exchange(script({ status: "none", steps: [interim] }))
    expect(recorded.heads.map(({ status }) => status)).toEqual([200])
    expect(recorded.body).toBe("ok")
  })

  it.each(["", "identity", "Identity", "none"])("is passed on with the content encoding %j", async (encoding) => {
    const recorded = await exchange(text("whatever", "application/json", 200, { "content-encoding": encoding }))
    expect([recorded.order, recorded.body]).toEqual([["head", "data", "end"], "whatever"])
  })

  it("is passed on if it is an error in a content encoding that is not accepted", async () => {
    const headers = { "content-encoding": "gzip", "retry-after": "7" }
    const recorded = await exchange(text("whatever", "application/json", 429, headers))
    expect(recorded.heads).toEqual([{ status: 429, contentType: "application/json", retryAfter: "7" }])
    expect(recorded.order).toEqual(["head", "data", "end"])
  })

  it("is a failure if its content encoding is not accepted", async () => {
    const recorded = await exchange(text("whatever", "application/json", 200, { "content-encoding": "gzip" }))
    expect(recorded.order).toEqual(["broken"])
    expect(recorded.broken).toContain("gzip")
  })
})

describe("an upstream failure", () => {
  const broken: ReadonlyArray<readonly [string, Script, ReadonlyArray<string>]> = [
    ["closes the connection before a response", closeImmediately, ["broken"]],
    ["resets the connection before a response", resetImmediately, ["broken"]],
    ["closes the connection after the head", script({ steps: [cut] }), ["head", "broken"]],
    [
      "closes the connection in the middle of the body",
      script({ steps: [bytes("data: 1\n\n"), cut] }),
      ["head", "data", "broken"]
    ],
    [
      "closes the connection before the announced length",
      script({ framing: "length", length: 100, steps: [bytes("short"), cut] }),
      ["head", "data", "broken"]
    ],
    [
      "sends bytes that are not HTTP",
      script({ status: "none", steps: [raw("SSH-2.0-OpenSSH_9\r\n\r\n"), stall] }),
      ["broken"]
    ],
    [
      "breaks the chunked framing",
      script({ steps: [bytes("data: 1\n\n"), raw("zzz\r\n"), stall] }),
      ["head", "data", "broken"]
    ],
    [
      "sends headers that are too large",
      script({ headers: { "x-long": "y".repeat(60_000) }, steps: [stall] }),
      ["broken"]
    ]
  ]
  it.each(broken)("is reported once when the upstream %s", async (_, scripted, order) => {
    const recorded = await exchange(scripted, "failed")
    expect(recorded.order).toEqual(order)
    expect(recorded.broken).not.toBe("")
  })

  it("is reported when the upstream resets the connection inside the body", async () => {
    // A reset can arrive before the data that was sent earlier.
    const recorded = await exchange(script({ steps: [bytes("data: 1\n\n"), reset] }), "failed")
    expect(recorded.order.at(-1)).toBe("broken")
  })

  it("is reported when the connection is refused", async () => {
    const recorded = new RecordedExchange()
    send(candidateAt(await unusedAddress()), recorded)
    await recorded.finished
    expect(recorded.order).toEqual(["broken"])
    expect(recorded.broken).toContain("ECONNREFUSED")
  })

  it("is reported for an untrusted certificate before the request is sent", async () => {
    const impostor = await ScriptedUpstream.start({ tls: selfSigned })
    const recorded = new RecordedExchange()
    send(candidateAt(impostor.baseUrl), recorded)
    await recorded.finished
    expect(recorded.broken).toContain("SELF_SIGNED")
    expect(impostor.requests).toEqual([])
    await impostor.close()
  })

  it("opens the circuit breaker when it occurs too often", async () => {
    const candidate = candidateAt(upstream.baseUrl, {
      breaker: { failures: 2, windowMillis: 60_000, openMillis: 60_000 }
    })
    await exchange(closeImmediately, "failed", candidate)
    await exchange(closeImmediately, "failed", candidate)
    const refused = Either.getOrThrow(Either.flip(trySend(candidate, new RecordedExchange())))
    expect(refused).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 60 })
    expect(logged).toEqual(['["circuit breaker opened",{"provider":"provider"}]'])
  })
})

describe("closing an exchange", () => {
  it("aborts the upstream request immediately", async () => {
    upstream.next(script({ steps: [event({ n: 1 }), stall] }))
    const recorded = new RecordedExchange()
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    await recorded.when(() => recorded.chunks.length > 0)
    const received = await upstream.received()
    const at = performance.now()
    sent.close("undecided")
    await received.left
    expect(performance.now() - at).toBeLessThan(1_000)
    expect(recorded.order).toEqual(["head", "data"])
  })

  it("aborts an upstream request that has no response yet", async () => {
    upstream.next(silence)
    const recorded = new RecordedExchange()
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    const received = await upstream.received()
    sent.close("undecided")
    await received.left
    expect(recorded.order).toEqual([])
  })

  it("sends nothing if the connection is not open yet", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    const recorded = new RecordedExchange()
    send(one, recorded).close("undecided")
    expect(Either.isLeft(trySend(one, new RecordedExchange()))).toBe(true)
    upstream.next(json(completion()))
    const again = new RecordedExchange()
    let sent = trySend(one, again)
    while (Either.isLeft(sent)) {
      await new Promise(setImmediate)
      sent = trySend(one, again)
    }
    await again.finished
    expect(recorded.order).toEqual([])
    expect(upstream.requests.length).toBe(1)
  })

  it("is possible inside an event callback", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    for (const at of ["head", "data"]) {
      upstream.next(script({ steps: [event({ n: 1 }), event({ n: 2 }), stall] }))
      const recorded = new RecordedExchange()
      const sent = send(one, recorded)
      await recorded.when(() => {
        if (recorded.order.at(-1) !== at) return false
        sent.close("served")
        return true
      })
      await (await upstream.received()).left
      expect(recorded.order.at(-1)).toBe(at)
    }
    await exchange(json(completion()), "served", one)
  })

  it("releases the slot", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    upstream.next(json(completion()))
    const recorded = new RecordedExchange()
    const sent = send(one, recorded)
    await recorded.finished
    expect(Either.isLeft(trySend(one, new RecordedExchange()))).toBe(true)
    sent.close("served")
    sent.close("misconfigured")
    await exchange(json(completion()), "served", one)
  })
})

describe("backpressure", () => {
  it("pauses the upstream for a slow client", async () => {
    const piece = "x".repeat(64 * 1024)
    const pieces = 400
    upstream.next(script({ steps: Array.from({ length: pieces }, () => bytes(piece)) }))
    const recorded = new RecordedExchange()
    recorded.acceptsData = false
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    const received = await upstream.received()
    await recorded.when(() => recorded.chunks.length > 0)
    let before = -1
    while (received.sentBytes() !== before) {
      before = received.sentBytes()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const paused = recorded.bytes
    expect(paused).toBeLessThan(1024 * 1024)
    expect(received.sentBytes()).toBeLessThan(pieces * piece.length)
    recorded.acceptsData = true
    sent.resume()
    await recorded.finished
    sent.close("served")
    expect(recorded.bytes).toBe(pieces * piece.length)
    expect(recorded.broken).toBeUndefined()
  })

  const closing = { "content-type": "text/event-stream", connection: "close" }
  it.each([
    ["the end of the connection", script({ headers: closing, framing: "until close", steps: [bytes("hello")] })],
    ["its length", script({ headers: closing, framing: "length", length: 5, steps: [bytes("hello"), cut] })]
  ])("does not lose the end of a response that ends with %s", async (_, response) => {
    upstream.next(response)
    const recorded = new RecordedExchange()
    recorded.acceptsData = false
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    await recorded.finished
    sent.close("served")
    expect(recorded.order).toEqual(["head", "data", "end"])
    expect(recorded.body).toBe("hello")
  })

  it.each([
    ["ends", cut],
    ["is reset", reset]
  ])("reports a response as broken if its connection %s meanwhile", async (_, end) => {
    const isPaused = signal()
    upstream.next(
      script({ headers: closing, framing: "length", length: 9, steps: [bytes("hello"), until(isPaused), end] })
    )
    const recorded = new RecordedExchange()
    recorded.acceptsData = false
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    await recorded.when(() => recorded.chunks.length > 0)
    isPaused.fire()
    await recorded.finished
    sent.close("failed")
    expect(recorded.order).toEqual(["head", "data", "broken"])
  })

  it("does not prevent the abort when an exchange is closed", async () => {
    upstream.next(script({ steps: Array.from({ length: 400 }, () => bytes("x".repeat(64 * 1024))) }))
    const recorded = new RecordedExchange()
    recorded.acceptsData = false
    const sent = send(candidateAt(upstream.baseUrl), recorded)
    const received = await upstream.received()
    await recorded.when(() => recorded.chunks.length > 0)
    sent.close("undecided")
    await received.left
    sent.resume()
  })
})

describe("an exception in the relay", () => {
  it("fails only its own exchange", async () => {
    upstream.next(stream(chatFrames()))
    const recorded = new RecordedExchange()
    const sent = Either.getOrThrow(
      upstreams.send(
        { candidate: candidateAt(upstream.baseUrl), ...request, body: Buffer.from("{}") },
        {
          ...recorded,
          onData: () => {
            throw new Error("a defect of the relay")
          },
          onBroken: (reason) => {
            recorded.onBroken(reason)
            throw new Error("and another")
          }
        }
      )
    )
    await recorded.finished
    sent.close("undecided")
    expect(recorded.broken).toContain("a defect of the relay")
    await exchange(json(completion()))
  })
})

it("the adapter ends open exchanges when its scope closes", async () => {
  upstream.next(script({ steps: [event({ n: 1 }), stall] }))
  const recorded = new RecordedExchange()
  send(candidateAt(upstream.baseUrl), recorded)
  await recorded.when(() => recorded.chunks.length > 0)
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await recorded.finished
  expect(recorded.order.at(-1)).toBe("broken")
})
