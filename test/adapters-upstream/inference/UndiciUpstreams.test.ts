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
  closeAtOnce,
  cut,
  event,
  inPieces,
  json,
  raw,
  reset,
  resetAtOnce,
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

/** One exchange and all its events. */
class Told implements UpstreamEvents {
  readonly heads: Array<UpstreamHead> = []
  readonly chunks: Array<Buffer> = []
  readonly order: Array<string> = []
  broken: string | undefined
  takes = true
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
    return this.takes
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
  /** Resolves when the condition holds. It is checked after each event. */
  when(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (holds()) resolve()
      }
      this.onNext = look
      look()
    })
  }
}

const request = { path: "/chat/completions", headers: { "content-type": "application/json" } }
const candidateAt = (baseUrl: string, parts: Parameters<typeof aCandidate>[0] = {}) => aCandidate({ baseUrl, ...parts })
const trySend = (candidate: Candidate, told: Told, body = '{"model":"m"}', headers = request.headers) =>
  upstreams.send({ candidate, path: request.path, headers, body: Buffer.from(body) }, told)
const send = (candidate: Candidate, told: Told, body?: string) =>
  Either.getOrThrowWith(trySend(candidate, told, body), (error) => error)

const exchange = async (scripted: Script, verdict: Verdict = "served", candidate = candidateAt(upstream.baseUrl)) => {
  upstream.next(scripted)
  const told = new Told()
  const sent = send(candidate, told)
  await told.finished
  sent.close(verdict)
  return told
}

describe("an upstream request", () => {
  it("contains our credential, the content length and the unchanged body", async () => {
    upstream.next(json(completion()))
    const told = new Told()
    const body = '{"model":"m","big":12345678901234567890,"text":"héllo"}'
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      Authorization: "Bearer of a client",
      "X-Api-Key": "of a client"
    }
    const sent = trySend(candidateAt(upstream.baseUrl), told, body, headers)
    expect(Either.isRight(sent)).toBe(true)
    const received = await upstream.received()
    await told.finished
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

  it("contains the credential in x-api-key when the provider requires it", async () => {
    await exchange(json(completion()), "served", candidateAt(upstream.baseUrl, { auth: "x-api-key" }))
    const { headers } = await upstream.received()
    expect(headers["x-api-key"]).toBe(SECRET)
    expect(headers.authorization).toBeUndefined()
  })

  it("is not sent without a key", () => {
    const refused = trySend(candidateAt(upstream.baseUrl, { apiKeyEnv: "OTHER_KEY" }), new Told())
    expect(Either.getOrThrow(Either.flip(refused))._tag).toBe("UpstreamFailed")
    expect(upstream.requests).toEqual([])
  })

  it("fails immediately and releases its slot when its path cannot be encoded", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    const told = new Told()
    const refused = upstreams.send({ candidate: one, path: "/bad path\n", headers: {}, body: Buffer.from("{}") }, told)
    expect(Either.getOrThrow(Either.flip(refused))._tag).toBe("UpstreamFailed")
    expect(told.order).toEqual([])
    await exchange(json(completion()), "served", one)
  })

  it("reuses a kept-alive connection", async () => {
    await exchange(json(completion()))
    await new Promise(setImmediate)
    await exchange(json(completion()))
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([1, 1])
  })

  it("is sent immediately on a separate connection while other requests are open", async () => {
    const many = 300
    const all = signal()
    upstream.always(script({ steps: [event({ n: 1 }), until(all), event({ n: 2 })] }))
    const candidate = candidateAt(upstream.baseUrl, { maxConcurrency: many })
    const tolds = Array.from({ length: many }, () => new Told())
    const sents = tolds.map((told) => send(candidate, told))
    expect(Either.getOrThrow(Either.flip(trySend(candidate, new Told())))._tag).toBe("Overloaded")
    // No request waited: every stream began before any ended.
    await Promise.all(tolds.map((told) => told.when(() => told.chunks.length > 0)))
    expect(upstream.openConnections).toBe(many)
    all.fire()
    await Promise.all(tolds.map(({ finished }) => finished))
    for (const sent of sents) sent.close("served")
    expect(tolds.every(({ broken }) => broken === undefined)).toBe(true)
  })
})

describe("an upstream response", () => {
  it("arrives in order: head, data, end", async () => {
    const frames = chatFrames({ content: ["a", "b"], usage: usage(3, 2) })
    const told = await exchange(stream(frames))
    expect(told.order).toEqual(["head", "data", "end"])
    expect(told.heads).toEqual([{ status: 200, contentType: "text/event-stream", retryAfter: undefined }])
    expect(told.body).toBe(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`)
  })

  it("arrives complete when the upstream sends single bytes", async () => {
    const body = `data: {"text":"世界"}\n\n`
    const told = await exchange(script({ steps: [inPieces(1, body)] }))
    expect(told.body).toBe(body)
    expect(told.broken).toBeUndefined()
  })

  it("arrives complete when only the end of the connection marks its end", async () => {
    const told = await exchange(script({ framing: "until close", steps: [bytes("data: 1\n\n"), bytes("data: 2\n\n")] }))
    expect(told.body).toBe("data: 1\n\ndata: 2\n\n")
    expect(told.order).toEqual(["head", "data", "end"])
  })

  it("is passed on with any status and its Retry-After, and a redirect is not followed", async () => {
    const limited = await exchange(json({}, 429, { "retry-after": "7" }))
    expect(limited.heads).toEqual([{ status: 429, contentType: "application/json", retryAfter: "7" }])
    const moved = await exchange(text("", "text/html", 302, { location: `${upstream.baseUrl}/elsewhere` }))
    expect(moved.heads[0]?.status).toBe(302)
    expect(upstream.requests.length).toBe(2)
  })

  it("is passed on once after interim responses", async () => {
    const interim = raw("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    const told = await exchange(script({ status: "none", steps: [interim] }))
    expect(told.heads.map(({ status }) => status)).toEqual([200])
    expect(told.body).toBe("ok")
  })

  it("is a failure when its encoding was not requested", async () => {
    const told = await exchange(text("whatever", "application/json", 200, { "content-encoding": "gzip" }))
    expect(told.order).toEqual(["broken"])
    expect(told.broken).toContain("gzip")
  })
})

describe("an upstream failure is reported once", () => {
  const broken: ReadonlyArray<readonly [string, Script, ReadonlyArray<string>]> = [
    ["closing without a word", closeAtOnce, ["broken"]],
    ["resetting without a word", resetAtOnce, ["broken"]],
    ["closing after the head", script({ steps: [cut] }), ["head", "broken"]],
    ["closing in the middle of the body", script({ steps: [bytes("data: 1\n\n"), cut] }), ["head", "data", "broken"]],
    [
      "closing before the announced length",
      script({ framing: "length", length: 100, steps: [bytes("short"), cut] }),
      ["head", "data", "broken"]
    ],
    [
      "answering with garbage",
      script({ status: "none", steps: [raw("SSH-2.0-OpenSSH_9\r\n\r\n"), stall] }),
      ["broken"]
    ],
    [
      "breaking the framing",
      script({ steps: [bytes("data: 1\n\n"), raw("zzz\r\n"), stall] }),
      ["head", "data", "broken"]
    ],
    ["sending endless headers", script({ headers: { "x-long": "y".repeat(60_000) }, steps: [stall] }), ["broken"]]
  ]
  it.each(broken)("%s", async (_, scripted, order) => {
    const told = await exchange(scripted, "failed")
    expect(told.order).toEqual(order)
    expect(told.broken).not.toBe("")
  })

  it("for a reset inside the body", async () => {
    // A reset may arrive before the data that was sent earlier.
    const told = await exchange(script({ steps: [bytes("data: 1\n\n"), reset] }), "failed")
    expect(told.order.at(-1)).toBe("broken")
  })

  it("for a refused connection", async () => {
    const told = new Told()
    send(candidateAt(await unusedAddress()), told)
    await told.finished
    expect(told.order).toEqual(["broken"])
    expect(told.broken).toContain("ECONNREFUSED")
  })

  it("for an untrusted certificate, before the request is sent", async () => {
    const impostor = await ScriptedUpstream.start({ tls: selfSigned })
    const told = new Told()
    send(candidateAt(impostor.baseUrl), told)
    await told.finished
    expect(told.broken).toContain("SELF_SIGNED")
    expect(impostor.requests).toEqual([])
    await impostor.close()
  })

  it("and opens the circuit breaker after too many", async () => {
    const candidate = candidateAt(upstream.baseUrl, {
      breaker: { failures: 2, windowMillis: 60_000, openMillis: 60_000 }
    })
    await exchange(closeAtOnce, "failed", candidate)
    await exchange(closeAtOnce, "failed", candidate)
    const refused = Either.getOrThrow(Either.flip(trySend(candidate, new Told())))
    expect(refused).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 60 })
    expect(logged).toEqual(['["breaker opened",{"provider":"provider"}]'])
  })
})

describe("closing an exchange", () => {
  it("aborts the upstream at once, and no event follows", async () => {
    upstream.next(script({ steps: [event({ n: 1 }), stall] }))
    const told = new Told()
    const sent = send(candidateAt(upstream.baseUrl), told)
    await told.when(() => told.chunks.length > 0)
    const received = await upstream.received()
    const at = performance.now()
    sent.close("undecided")
    await received.left
    expect(performance.now() - at).toBeLessThan(1_000)
    expect(told.order).toEqual(["head", "data"])
  })

  it("aborts an upstream that has not responded yet", async () => {
    upstream.next(silence)
    const told = new Told()
    const sent = send(candidateAt(upstream.baseUrl), told)
    const received = await upstream.received()
    sent.close("undecided")
    await received.left
    expect(told.order).toEqual([])
  })

  it("before the connection is open sends nothing, and releases the slot at the end of the attempt", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    const told = new Told()
    send(one, told).close("undecided")
    expect(Either.isLeft(trySend(one, new Told()))).toBe(true)
    upstream.next(json(completion()))
    const again = new Told()
    let sent = trySend(one, again)
    while (Either.isLeft(sent)) {
      await new Promise(setImmediate)
      sent = trySend(one, again)
    }
    await again.finished
    expect(told.order).toEqual([])
    expect(upstream.requests.length).toBe(1)
  })

  it("works inside an event as outside", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    for (const at of ["head", "data"]) {
      upstream.next(script({ steps: [event({ n: 1 }), event({ n: 2 }), stall] }))
      const told = new Told()
      const sent = send(one, told)
      await told.when(() => {
        if (told.order.at(-1) !== at) return false
        sent.close("served")
        return true
      })
      await (await upstream.received()).left
      expect(told.order.at(-1)).toBe(at)
    }
    await exchange(json(completion()), "served", one)
  })

  it("releases the slot once, and not before", async () => {
    const one = candidateAt(upstream.baseUrl, { maxConcurrency: 1 })
    upstream.next(json(completion()))
    const told = new Told()
    const sent = send(one, told)
    await told.finished
    expect(Either.isLeft(trySend(one, new Told()))).toBe(true)
    sent.close("served")
    sent.close("misconfigured")
    await exchange(json(completion()), "served", one)
  })
})

describe("backpressure", () => {
  it("pauses the upstream for a slow client and loses no byte", async () => {
    const piece = "x".repeat(64 * 1024)
    const pieces = 400
    upstream.next(script({ steps: Array.from({ length: pieces }, () => bytes(piece)) }))
    const told = new Told()
    told.takes = false
    const sent = send(candidateAt(upstream.baseUrl), told)
    const received = await upstream.received()
    await told.when(() => told.chunks.length > 0)
    let before = -1
    while (received.sentBytes() !== before) {
      before = received.sentBytes()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const paused = told.bytes
    expect(paused).toBeLessThan(1024 * 1024)
    expect(received.sentBytes()).toBeLessThan(pieces * piece.length)
    told.takes = true
    sent.resume()
    await told.finished
    sent.close("served")
    expect(told.bytes).toBe(pieces * piece.length)
    expect(told.broken).toBeUndefined()
  })

  it("does not prevent the abort of a closed exchange", async () => {
    upstream.next(script({ steps: Array.from({ length: 400 }, () => bytes("x".repeat(64 * 1024))) }))
    const told = new Told()
    told.takes = false
    const sent = send(candidateAt(upstream.baseUrl), told)
    const received = await upstream.received()
    await told.when(() => told.chunks.length > 0)
    sent.close("undecided")
    await received.left
    sent.resume()
  })
})

describe("an exception in the relay", () => {
  it("fails only its own exchange", async () => {
    upstream.next(stream(chatFrames()))
    const told = new Told()
    const sent = Either.getOrThrow(
      upstreams.send(
        { candidate: candidateAt(upstream.baseUrl), ...request, body: Buffer.from("{}") },
        {
          ...told,
          onData: () => {
            throw new Error("a defect of the relay")
          },
          onBroken: (reason) => {
            told.onBroken(reason)
            throw new Error("and another")
          }
        }
      )
    )
    await told.finished
    sent.close("undecided")
    expect(told.broken).toContain("a defect of the relay")
    await exchange(json(completion()))
  })
})

it("ends open exchanges when its scope closes", async () => {
  upstream.next(script({ steps: [event({ n: 1 }), stall] }))
  const told = new Told()
  send(candidateAt(upstream.baseUrl), told)
  await told.when(() => told.chunks.length > 0)
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await told.finished
  expect(told.order.at(-1)).toBe("broken")
})
