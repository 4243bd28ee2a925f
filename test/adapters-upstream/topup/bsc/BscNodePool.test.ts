import { it } from "@effect/vitest"
import type { BscNode } from "@tollgate/adapters-upstream/topup/bsc/BscNode"
import * as BscNodePool from "@tollgate/adapters-upstream/topup/bsc/BscNodePool"
import type { RpcFailed } from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Effect, TestClock } from "effect"
import { describe, expect } from "vitest"
import { aNode, rpcFailed } from "./FakeNode.ts"

/** Creates nodes that record each query for a balance. A node with a failure fails; every other node responds. */
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
  it.effect("uses the first node in the settings as long as that node responds", () =>
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

  it.effect("begins the next query with the same node if this node refused a query", () =>
    Effect.gen(function* () {
      const { called, pool } = nodesThat([rpcFailed("rejected", -32601), undefined])
      yield* pool.ask(1, balance)
      yield* pool.ask(1, balance)
      expect(called).toEqual([0, 1, 0, 1])
    })
  )

  it.effect("calls all nodes if all of them failed before", () =>
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

  it.effect("uses only nodes that passed the check of their chain and tokens", () =>
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
