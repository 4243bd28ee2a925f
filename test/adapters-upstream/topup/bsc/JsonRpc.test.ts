import type { LookupFunction } from "node:net"
import { setTimeout } from "node:timers/promises"
import * as JsonRpc from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Effect, Fiber, Schema, TestClock, TestContext } from "effect"
import type { Agent } from "undici"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../../support/ScriptedUpstream.ts"
import {
  closeImmediately,
  json,
  resetImmediately,
  type Script,
  silence,
  text
} from "../../../support/upstream/Script.ts"
import { result } from "./FakeNode.ts"

const KEY = "0123456789abcdef0123456789abcdef"

let upstream: ScriptedUpstream
let agent: Agent

beforeEach(async () => {
  upstream = await ScriptedUpstream.start({ basePath: `/v2/${KEY}?token=${KEY}` })
  agent = Effect.runSync(JsonRpc.openAgent())
})

afterEach(async () => {
  await agent.destroy()
  await upstream.close()
})

const callTo = (url: string) => JsonRpc.make("node 1 of 2", new URL(url), agent).call("eth_chainId", [], Schema.String)
const call = () => Effect.runPromise(callTo(upstream.baseUrl))
const failure = (url = upstream.baseUrl) => Effect.runPromise(Effect.flip(callTo(url)))

const refusal = (code: number, message: string, status = 200) =>
  json({ jsonrpc: "2.0", id: 1, error: { code, message } }, status)

describe("a JSON-RPC call", () => {
  it("returns the result of a JSON-RPC request with POST", async () => {
    upstream.next(result("0x38"))
    expect(await call()).toBe("0x38")
    const request = await upstream.received()
    expect(request.method).toBe("POST")
    expect(request.path).toBe(`/v2/${KEY}?token=${KEY}`)
    expect(request.json()).toEqual({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] })
  })

  it("sends the user name and password of the URL in a header", async () => {
    upstream.next(result("0x38"))
    const url = upstream.baseUrl.replace("http://", "http://operator:p%40ss@")
    expect(await Effect.runPromise(callTo(url))).toBe("0x38")
    const { headers } = await upstream.received()
    expect(headers.authorization).toBe(`Basic ${Buffer.from("operator:p@ss").toString("base64")}`)
  })

  it("resolves a node's host name once for concurrent calls", async () => {
    const pending: Array<() => void> = []
    const lookup: LookupFunction = (_, { all }, callback) => {
      pending.push(() => (all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4)))
    }
    upstream.always(result("0x38"))
    const shared = Effect.runSync(JsonRpc.openAgent(lookup))
    try {
      const node = JsonRpc.make("node 1 of 2", new URL(upstream.baseUrl.replace("127.0.0.1", "node.example")), shared)
      const calls = [1, 2, 3].map(() => Effect.runPromise(node.call("eth_chainId", [], Schema.String)))
      await vi.waitFor(() => expect(pending.length).toBeGreaterThan(0), 30_000)
      await setTimeout(100)
      expect(pending).toHaveLength(1)
      pending[0]?.()
      expect(await Promise.all(calls)).toEqual(["0x38", "0x38", "0x38"])
    } finally {
      await shared.destroy()
    }
  })

  it("ignores an error that is null", async () => {
    upstream.next(json({ jsonrpc: "2.0", id: 1, error: null, result: "0x38" }))
    expect(await call()).toBe("0x38")
  })

  it("is retried when the connection is closed without a response", async () => {
    upstream.next(closeImmediately, result("0x38"))
    expect(await call()).toBe("0x38")
  })

  it.each<[string, Script, string]>([
    ["HTML", text("<html>log in</html>", "text/html"), "bad_response"],
    ["an empty body", text("", "application/json"), "bad_response"],
    ["a result of another shape", result({ chainId: 56 }), "bad_response"],
    ["JSON-RPC without a result", json({ jsonrpc: "2.0", id: 1 }), "bad_response"],
    ["larger than 1 MiB", text(`"${"x".repeat(1_100_000)}"`, "application/json"), "bad_response"],
    ["a redirect", text("", "text/plain", 302, { location: "http://127.0.0.1:1/" }), "rejected"],
    ["status 400 with HTML", text("<html>", "text/html", 400), "rejected"],
    ["status 401", text("", "text/plain", 401), "unauthorized"],
    ["status 403", text("", "text/plain", 403), "unauthorized"],
    ["status 429", text("", "text/plain", 429), "rate_limited"],
    ["status 500", text("oops", "text/plain", 500), "server_error"],
    ["status 503 with JSON-RPC", refusal(-32000, "busy", 503), "server_error"]
  ])("fails when the response is %s", async (_, script, kind) => {
    upstream.next(script)
    expect(await failure()).toMatchObject({ kind, code: undefined })
  })

  it.each([200, 400])("fails with the error code of a node that refuses it with status %i", async (status) => {
    upstream.next(refusal(-32005, "limit exceeded", status))
    const { kind, code, detail } = await failure()
    expect({ kind, code }).toEqual({ kind: "rejected", code: -32005 })
    expect(detail).toBe("node 1 of 2: eth_chainId was refused: -32005 limit exceeded")
  })

  it("fails when the connection is reset twice", async () => {
    upstream.next(resetImmediately, resetImmediately)
    expect(await failure()).toMatchObject({ kind: "network" })
  })

  it("fails without the URL in the error when no node listens", async () => {
    const { kind, detail } = await failure(await unusedAddress())
    expect({ kind, detail }).toEqual({ kind: "network", detail: "node 1 of 2: eth_chainId failed: ECONNREFUSED" })
  })

  it("hides the access key of the URL in an error", async () => {
    upstream.next(refusal(-32000, `project ${KEY} is over its quota`))
    expect((await failure()).detail).toBe("node 1 of 2: eth_chainId was refused: -32000 project ... is over its quota")
  })

  it("fails after three seconds without a response", async () => {
    upstream.next(silence)
    const { kind } = await Effect.gen(function* () {
      const running = yield* Effect.fork(Effect.flip(callTo(upstream.baseUrl)))
      const request = yield* Effect.promise(() => upstream.received())
      yield* TestClock.adjust("3 seconds")
      const failed = yield* Fiber.join(running)
      yield* Effect.promise(() => request.left)
      return failed
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
    expect(kind).toBe("timeout")
  })
})
