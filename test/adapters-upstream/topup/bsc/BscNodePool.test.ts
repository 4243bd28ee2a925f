import { it } from "@effect/vitest"
import type { BscNode } from "@tollgate/adapters-upstream/topup/bsc/BscNode"
import * as BscNodePool from "@tollgate/adapters-upstream/topup/bsc/BscNodePool"
import type { RpcFailed } from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Effect, Fiber, Option, TestClock } from "effect"
import { describe, expect } from "vitest"
import { quiet } from "../Payments.ts"
import { aNode, rpcFailed } from "./FakeNode.ts"

/** Records which nodes are called. A node with a failure fails, the others respond. */
const nodesThat = (failures: ReadonlyArray<RpcFailed | undefined>) => {
  const called: Array<number> = []
  const nodes = failures.map((failure, i) =>
    aNode({
      balanceOf: () => {
        called.push(i)
        return failure === undefined ? Effect.succeed(BigInt(i)) : Effect.fail(failure)
      }
    })
  )
  return { called, pool: BscNodePool.make(nodes) }
}

const balance = (node: BscNode) => node.balanceOf("", "")

describe("a query to several nodes", () => {
  it.effect("uses the first node while this node responds", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([undefined, undefined])
      expect(yield* pool.ask(1, balance)).toEqual([0n])
      expect(yield* pool.ask(1, balance)).toEqual([0n])
      expect(called).toEqual([0, 0])
    })
  )

  it.effect("calls a failed node last for 30 seconds", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([rpcFailed("network"), undefined])
      expect(yield* pool.ask(1, balance)).toEqual([1n])
      expect(yield* pool.ask(1, balance)).toEqual([1n])
      expect(called).toEqual([0, 1, 1])
      yield* TestClock.adjust("30 seconds")
      expect(yield* pool.ask(1, balance)).toEqual([1n])
      expect(called).toEqual([0, 1, 1, 0, 1])
    })
  )

  it.effect("calls a node last if the caller has stopped waiting for its result", () =>
    Effect.gen(function* () {
      const slow = aNode({ balanceOf: () => Effect.never })
      const other = aNode({ balanceOf: () => Effect.succeed(1n) })
      const pool = BscNodePool.make([slow, other])
      const ended = yield* Effect.fork(Effect.timeoutOption(pool.ask(1, balance), "5 seconds"))
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(ended)).toEqual(Option.none())
      expect(yield* pool.ask(1, balance)).toEqual([1n])
    }).pipe(quiet)
  )

  it.effect("calls a node first again if the caller waited for it for only one second", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([undefined, undefined])
      const ended = yield* Effect.fork(
        Effect.timeoutOption(
          pool.ask(1, () => Effect.never),
          "1 second"
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ended)
      expect(yield* pool.ask(1, balance)).toEqual([0n])
      expect(called).toEqual([0])
    })
  )

  it.effect("calls a node first again after the node refused a query", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([rpcFailed("rejected", -32601), undefined])
      yield* pool.ask(1, balance)
      yield* pool.ask(1, balance)
      expect(called).toEqual([0, 1, 0, 1])
    })
  )

  it.effect("calls all nodes if all failed before", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([rpcFailed("network"), rpcFailed("timeout")])
      yield* Effect.flip(pool.ask(1, balance))
      const { kind, detail } = yield* Effect.flip(pool.ask(1, balance))
      expect({ kind, detail }).toEqual({ kind: "network", detail: "network; timeout" })
      expect(called).toEqual([0, 1, 0, 1])
    })
  )

  it.effect("uses each node at most once for a quorum", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([undefined, rpcFailed("server_error"), undefined])
      expect(yield* pool.ask(2, balance)).toEqual([0n, 2n])
      expect([...called].sort()).toEqual([0, 1, 2])
      expect(yield* Effect.flip(pool.ask(3, balance))).toMatchObject({ kind: "server_error" })
    })
  )

  it.effect("skips a node that fails the check of its chain and tokens", () =>
    Effect.gen(function* () {
      const wrongNode = aNode({ identify: Effect.fail(rpcFailed("not_configured")) })
      const known = aNode({ balanceOf: () => Effect.succeed(7n) })
      expect(yield* BscNodePool.make([wrongNode, known]).ask(1, balance)).toEqual([7n])
    })
  )

  it.effect("fails if there are no nodes", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(BscNodePool.make([]).ask(1, balance))).toMatchObject({ kind: "not_configured" })
    })
  )
})
