/**
 * The failure of a POST is *ambiguous* if the provider may have processed the request. The failure of a GET is never
 * ambiguous.
 */
import { it } from "@effect/vitest"
import { failuresOf } from "@tollgate/adapters-upstream/topup/wire/PaymentFailures"
import * as PaymentHttp from "@tollgate/adapters-upstream/topup/wire/PaymentHttp"
import { AmountRejected } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Either, Fiber, Redacted } from "effect"
import { describe, expect } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../../support/ScriptedUpstream.ts"
import {
  closeImmediately,
  json,
  resetImmediately,
  type Script,
  script,
  signal,
  silence,
  text,
  until
} from "../../../support/upstream/Script.ts"
import { LONG_TIMEOUT, quiet } from "../Payments.ts"

const SECRET = "Basic c2VjcmV0OmtleQ=="
const failures = failuresOf("a-provider")

const aClient = (baseUrl: string, limits: Partial<PaymentHttp.PaymentLimits> = {}) =>
  PaymentHttp.make({
    baseUrl,
    credential: { name: "authorization", value: Redacted.make(SECRET) },
    failures,
    limits: { ...LONG_TIMEOUT, ...limits }
  })

const body = (response: PaymentHttp.PaymentResponse) => Either.right(response.body)
const repeatableGet = { method: "GET", path: "/thing", repeatable: true, read: body } as const
const post = { method: "POST", path: "/thing", body: { amount: 1n }, repeatable: false, read: body } as const
const repeatablePost = { ...post, repeatable: true } as const

describe("a call", () => {
  it.scopedLive("sends the credential to a path below the base URL", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped({ basePath: "/api-sandbox/" })
      upstream.next(text('{"amount":9007199254740993}', "application/json"))
      const client = yield* aClient(upstream.baseUrl)
      const response = yield* client.call({
        ...post,
        headers: { "idempotency-key": "k" },
        body: { amount: 9_007_199_254_740_993n }
      })
      expect(response).toEqual({ amount: "9007199254740993" })
      const [request] = upstream.requests
      expect([request?.method, request?.path]).toEqual(["POST", "/api-sandbox/thing"])
      expect(request?.body.toString()).toBe('{"amount":9007199254740993}')
      expect(request?.headers).toMatchObject({
        authorization: SECRET,
        "content-type": "application/json",
        accept: "application/json",
        "accept-encoding": "identity",
        "idempotency-key": "k"
      })
    })
  )

  it.scopedLive("passes a JSON response with the status 400 to the caller", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.next(json({ code: "X" }, 400))
      const client = yield* aClient(upstream.baseUrl)
      const status = yield* client.call({ ...post, read: (response) => Either.right(response.status) })
      expect(status).toBe(400)
    })
  )
})

describe("a retry", () => {
  const outages: ReadonlyArray<readonly [string, Script]> = [
    ["a broken connection", resetImmediately],
    ["a closed connection", closeImmediately],
    ["status 500", json({}, 500)],
    ["status 503", text("<html>", "text/html", 503)],
    ["status 429", json({}, 429)]
  ]
  for (const [name, outage] of outages) {
    it.scopedLive(`follows ${name}`, () =>
      Effect.gen(function* () {
        const upstream = yield* ScriptedUpstream.scoped()
        upstream.next(outage, json({ fine: true }))
        const client = yield* aClient(upstream.baseUrl)
        expect(yield* client.call(repeatableGet)).toEqual({ fine: true })
      })
    )
  }

  it.scopedLive("follows a retryable error with status 200", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.next(json({ status_code: "500" }), json({ status_code: "200" }))
      const client = yield* aClient(upstream.baseUrl)
      const read = ({ body }: PaymentHttp.PaymentResponse) =>
        JSON.stringify(body).includes("500")
          ? Either.left(failures.unavailable("server_error", "500"))
          : Either.right(body)
      expect(yield* client.call({ ...repeatableGet, read })).toEqual({ status_code: "200" })
    })
  )

  it.scopedLive("happens once", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(json({}, 503))
      const client = yield* aClient(upstream.baseUrl)
      const failure = yield* Effect.flip(client.call(repeatableGet))
      expect(failure).toMatchObject({ provider: "a-provider", kind: "server_error", detail: "status 503" })
      expect(upstream.requests.length).toBe(2)
    })
  )

  it.scopedLive("does not follow an error that a retry cannot fix", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const client = yield* aClient(upstream.baseUrl)
      upstream.next(json({}, 503), json({}, 401), text("<html>", "text/html"), json({}, 302, { location: "/" }))
      yield* Effect.flip(client.call(post))
      for (let i = 0; i < 3; i++) yield* Effect.flip(client.call(repeatableGet))
      expect(upstream.requests.length).toBe(4)
    })
  )

  it.scopedLive("ends with an ambiguous failure if the first failure was ambiguous", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const client = yield* aClient(upstream.baseUrl)
      upstream.next(resetImmediately, json({}, 429))
      expect(yield* Effect.flip(client.call(repeatablePost))).toMatchObject({ kind: "rate_limited", ambiguous: true })
      upstream.next(json({}, 429), json({}, 429))
      expect(yield* Effect.flip(client.call(repeatablePost))).toMatchObject({ kind: "rate_limited", ambiguous: false })
    })
  )

  it.scopedLive("whose first failure was ambiguous is not refused with the amount as the reason", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const client = yield* aClient(upstream.baseUrl)
      const refused = new AmountRejected({ provider: "a-provider", detail: "the amount is too small" })
      const refusing = { ...repeatablePost, read: () => Either.left(refused) } as const
      upstream.next(resetImmediately, json({}))
      expect(yield* Effect.flip(client.call(refusing))).toMatchObject({ kind: "rejected", ambiguous: true })
      upstream.next(json({}))
      expect(yield* Effect.flip(client.call(refusing))).toBe(refused)
    })
  )
})

describe("a failure", () => {
  const endless = text(`"${"a".repeat(70_000)}"`, "application/json")
  const halfway = script({
    headers: { "content-type": "application/json" },
    framing: "length",
    length: 50,
    steps: [(wire) => wire.raw('{"half":'), (wire) => wire.broken(), (wire) => void wire.socket.destroy()]
  })
  const failures: ReadonlyArray<readonly [string, Script, kind: string, ambiguous: boolean]> = [
    ["a reset", resetImmediately, "network", true],
    ["a connection closed without a response", closeImmediately, "network", true],
    ["a truncated response", halfway, "network", true],
    ["status 500", json({}, 500), "server_error", true],
    ["status 503 with HTML", text("<html>", "text/html", 503), "server_error", true],
    ["status 429", json({}, 429), "rate_limited", false],
    ["status 401", json({}, 401), "unauthorized", false],
    ["status 403", text("<html>", "text/html", 403), "unauthorized", false],
    ["a redirect", json({}, 302, { location: "http://127.0.0.1:1/" }), "bad_response", true],
    ["HTML with status 200", text("<html>", "text/html"), "bad_response", true],
    ["HTML with status 404", text("<html>", "text/html", 404), "bad_response", false],
    ["an empty body", text("", "application/json"), "bad_response", true],
    ["a response above the size limit", endless, "bad_response", true]
  ]
  for (const [name, fault, kind, ambiguous] of failures) {
    it.scopedLive(`after ${name} has the kind ${kind}`, () =>
      Effect.gen(function* () {
        const upstream = yield* ScriptedUpstream.scoped()
        upstream.always(fault)
        const client = yield* aClient(upstream.baseUrl, { maxResponseBytes: 65_536 })
        expect(yield* Effect.flip(client.call(post))).toMatchObject({ kind, ambiguous })
        expect(yield* Effect.flip(client.call(repeatableGet))).toMatchObject({ kind, ambiguous: false })
      })
    )
  }

  it.scopedLive("of a connection attempt is not ambiguous", () =>
    Effect.gen(function* () {
      const client = yield* aClient(yield* Effect.promise(unusedAddress))
      expect(yield* Effect.flip(client.call(post))).toMatchObject({ kind: "network", ambiguous: false })
    })
  )

  it.scopedLive("occurs at the timeout if there is no response", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(silence)
      const client = yield* aClient(upstream.baseUrl, { timeoutMillis: 50 })
      expect(yield* Effect.flip(client.call(repeatablePost))).toMatchObject({ kind: "timeout", ambiguous: true })
      yield* Effect.promise(async () => (await upstream.received()).left)
      expect(upstream.requests.length).toBe(1)
    })
  )

  it.scopedLive("occurs at the timeout if the response does not end", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(script({ steps: [(wire) => wire.send('{"a":'), until(signal())] }))
      const client = yield* aClient(upstream.baseUrl, { timeoutMillis: 50 })
      expect(yield* Effect.flip(client.call(repeatableGet))).toMatchObject({ kind: "timeout", ambiguous: false })
    })
  )

  it.scopedLive("does not contain the credential that the response repeats", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(({ headers }) => text(`wrong key: ${headers.authorization}`, "text/plain", 401))
      const client = yield* aClient(upstream.baseUrl)
      const failure = yield* Effect.flip(client.call(repeatableGet))
      expect(JSON.stringify(failure)).not.toContain(SECRET)
    })
  )
})

describe("a payment provider", () => {
  it.scopedLive("is paused after repeated failures until a probe succeeds", () =>
    Effect.gen(function* () {
      let now = 0
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(json({}, 500))
      const client = yield* aClient(upstream.baseUrl, { nowMillis: () => now })
      const failing = Effect.flip(client.call(post))
      for (let i = 0; i < 5; i++) yield* failing
      expect(upstream.requests.length).toBe(5)

      expect(yield* failing).toMatchObject({ kind: "server_error", ambiguous: false })
      expect((yield* failing).detail).toBe("calls are paused for another 30000 ms; the last failure: status 500")
      expect(upstream.requests.length).toBe(5)

      now += 30_000
      yield* failing
      expect((yield* failing).detail).toContain("paused")
      expect(upstream.requests.length).toBe(6)

      now += 30_000
      upstream.always(json({}))
      yield* client.call(post)
      yield* client.call(post)
      expect(upstream.requests.length).toBe(8)
    }).pipe(quiet)
  )

  it.scopedLive("is not paused because it cannot return one payment", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(({ path }) => json({}, path.endsWith("/5") ? 200 : 500))
      const client = yield* aClient(upstream.baseUrl)
      const reading = (id: number) => Effect.either(client.call({ ...repeatableGet, path: `/payment/${id}` }))
      for (let i = 0; i < 20; i++) yield* reading(1)
      for (const id of [2, 3, 4, 4]) yield* reading(id)
      expect(Either.isRight(yield* reading(5))).toBe(true)
      for (const id of [1, 2, 3, 4, 6]) yield* reading(id)
      expect(Either.getLeft(yield* reading(5))).toMatchObject({ value: { detail: expect.stringContaining("paused") } })
    }).pipe(quiet)
  )

  /** Makes a client with its own clock, and a function that reads a payment and returns what happened. */
  const aPausable = Effect.gen(function* () {
    let now = 0
    const upstream = yield* ScriptedUpstream.scoped()
    const client = yield* aClient(upstream.baseUrl, { nowMillis: () => now })
    const reading = (id: number) =>
      Effect.map(Effect.either(client.call({ ...repeatableGet, path: `/payment/${id}` })), (result) => {
        if (Either.isRight(result)) return `${id} returned`
        return `${id} ${result.left.detail.includes("paused") ? "refused" : "failed"}`
      })
    return {
      upstream,
      pass: (millis: number) => {
        now += millis
      },
      read: (...ids: ReadonlyArray<number>) => Effect.forEach(ids, reading)
    }
  })
  const onlyOneFails = ({ path }: { readonly path: string }) => json({}, path.endsWith("/1") ? 500 : 200)

  it.scopedLive("is not kept paused by probes that read one payment", () =>
    Effect.gen(function* () {
      const { pass, read, upstream } = yield* aPausable
      upstream.always(json({}, 500))
      yield* read(1, 2, 3, 4, 5)
      upstream.always(onlyOneFails)
      pass(30_000)
      expect(yield* read(1, 1, 2)).toEqual(["1 failed", "1 refused", "2 refused"])
      pass(30_000)
      expect(yield* read(1, 2, 1)).toEqual(["1 refused", "2 returned", "1 failed"])
    }).pipe(quiet)
  )

  it.scopedLive(
    "is not kept paused by one payment if the probes of all other payments failed before it recovered",
    () =>
      Effect.gen(function* () {
        const { pass, read, upstream } = yield* aPausable
        upstream.always(json({}, 500))
        yield* read(1, 2, 3, 4, 5)
        for (const id of [1, 2]) {
          pass(30_000)
          expect(yield* read(id)).toEqual([`${id} failed`])
        }
        upstream.always(onlyOneFails)
        pass(30_000)
        expect(yield* read(1, 2)).toEqual(["1 refused", "2 refused"])
        pass(30_000)
        expect(yield* read(1)).toEqual(["1 failed"])
        pass(30_000)
        expect(yield* read(1, 2)).toEqual(["1 refused", "2 returned"])
      }).pipe(quiet)
  )

  it.scopedLive("is probed by the payment whose probe failed if no other call arrives", () =>
    Effect.gen(function* () {
      const { pass, read, upstream } = yield* aPausable
      upstream.always(json({}, 500))
      yield* read(1, 2, 3, 4, 5)
      pass(30_000)
      expect(yield* read(1)).toEqual(["1 failed"])
      upstream.always(json({}))
      pass(59_999)
      expect(yield* read(1)).toEqual(["1 refused"])
      pass(1)
      expect(yield* read(1)).toEqual(["1 returned"])
    }).pipe(quiet)
  )

  it.scopedLive("is not paused if it refuses the API key", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(json({}, 401))
      const client = yield* aClient(upstream.baseUrl)
      for (let i = 0; i < 8; i++) yield* Effect.flip(client.call(post))
      expect(upstream.requests.length).toBe(8)
    })
  )

  it.scopedLive("is probed again after an interrupted probe", () =>
    Effect.gen(function* () {
      let now = 0
      const upstream = yield* ScriptedUpstream.scoped()
      upstream.always(json({}, 500))
      const client = yield* aClient(upstream.baseUrl, { nowMillis: () => now })
      for (let i = 0; i < 5; i++) yield* Effect.flip(client.call(post))
      now += 30_000
      upstream.always(silence)
      const probe = yield* Effect.fork(client.call(post))
      for (let i = 0; i < 6; i++) yield* Effect.promise(() => upstream.received())
      yield* Fiber.interrupt(probe)
      upstream.always(json({}, 500))
      expect((yield* Effect.flip(client.call(post))).detail).toBe("status 500")
      expect((yield* Effect.flip(client.call(post))).detail).toContain("paused")
      expect(upstream.requests.length).toBe(7)
    }).pipe(quiet)
  )

  it.scopedLive("stays paused when a call from before the pause succeeds", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const client = yield* aClient(upstream.baseUrl)
      const mayRespond = signal()
      upstream.next(script({ ...json({ late: true }), steps: [until(mayRespond), ...json({ late: true }).steps] }))
      upstream.always(json({}, 500))
      const late = yield* Effect.fork(client.call(repeatableGet))
      yield* Effect.promise(() => upstream.received())
      for (let i = 0; i < 5; i++) yield* Effect.flip(client.call(post))
      mayRespond.fire()
      expect(yield* Fiber.join(late)).toEqual({ late: true })
      expect((yield* Effect.flip(client.call(post))).detail).toContain("paused")
    }).pipe(quiet)
  )

  it.scopedLive("gets each of 40 concurrent calls before it responds to the first", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const mayRespond = signal()
      upstream.always(script({ ...json({}), steps: [until(mayRespond), ...json({}).steps] }))
      const client = yield* aClient(upstream.baseUrl)
      const calls = yield* Effect.fork(
        Effect.replicateEffect(client.call(repeatableGet), 40, { concurrency: "unbounded" })
      )
      for (let i = 0; i < 40; i++) yield* Effect.promise(() => upstream.received())
      mayRespond.fire()
      expect(yield* Fiber.join(calls)).toHaveLength(40)
    })
  )

  it.scopedLive("gets no more concurrent calls than its limit", () =>
    Effect.gen(function* () {
      const upstream = yield* ScriptedUpstream.scoped()
      const mayRespond = signal()
      upstream.always(script({ ...json({}), steps: [until(mayRespond), ...json({}).steps] }))
      const client = yield* aClient(upstream.baseUrl, { maxConcurrentCalls: 2 })
      const calls = yield* Effect.fork(
        Effect.all([client.call(repeatableGet), client.call(repeatableGet)], { concurrency: 2 })
      )
      for (let i = 0; i < 2; i++) yield* Effect.promise(() => upstream.received())
      expect(yield* Effect.flip(client.call(repeatableGet))).toMatchObject({ kind: "rate_limited" })
      mayRespond.fire()
      yield* Fiber.join(calls)
      expect(yield* client.call(repeatableGet)).toEqual({})
    })
  )
})
