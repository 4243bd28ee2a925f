import { it } from "@effect/vitest"
import type { BscNode } from "@tollgate/adapters-upstream/topup/bsc/BscNode"
import * as Failover from "@tollgate/adapters-upstream/topup/bsc/Failover"
import type { RpcFailed } from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Effect, TestClock } from "effect"
import { describe, expect } from "vitest"
import { aNode, rpcFailed } from "./FakeNode.ts"

/** Nodes that note each question; a failure instead of an answer where one is given. */
const nodesThat = (failures: ReadonlyArray<RpcFailed | undefined>) => {
  const asked: Array<number> = []
  const nodes = failures.map((failure, i) =>
    aNode({
      balanceOf: () => {
        asked.push(i)
        return failure === undefined ? Effect.succeed(BigInt(i)) : Effect.fail(failure)
      }
    })
  )
  return { asked, failover: Failover.make(nodes) }
}

const question = (node: BscNode) => node.balanceOf("", "")

describe("several nodes", () => {
  it.effect("are asked in the order of the settings, one as long as it answers", () =>
    Effect.gen(function* () {
      const { asked, failover } = nodesThat([undefined, undefined])
      expect(yield* failover.ask(1, question)).toEqual([0n])
      expect(yield* failover.ask(1, question)).toEqual([0n])
      expect(asked).toEqual([0, 0])
    })
  )

  it.effect("spare one that failed for half a minute", () =>
    Effect.gen(function* () {
      const { asked, failover } = nodesThat([rpcFailed("network"), undefined])
      expect(yield* failover.ask(1, question)).toEqual([1n])
      expect(yield* failover.ask(1, question)).toEqual([1n])
      expect(asked).toEqual([0, 1, 1])
      yield* TestClock.adjust("30 seconds")
      expect(yield* failover.ask(1, question)).toEqual([1n])
      expect(asked).toEqual([0, 1, 1, 0, 1])
    })
  )

  it.effect("go on with one that refused a call: it may answer others", () =>
    Effect.gen(function* () {
      const { asked, failover } = nodesThat([rpcFailed("rejected", -32601), undefined])
      yield* failover.ask(1, question)
      yield* failover.ask(1, question)
      expect(asked).toEqual([0, 1, 0, 1])
    })
  )

  it.effect("are all tried although all failed before", () =>
    Effect.gen(function* () {
      const { asked, failover } = nodesThat([rpcFailed("network"), rpcFailed("timeout")])
      yield* Effect.flip(failover.ask(1, question))
      const { kind, detail } = yield* Effect.flip(failover.ask(1, question))
      expect({ kind, detail }).toEqual({ kind: "network", detail: "network; timeout" })
      expect(asked).toEqual([0, 1, 0, 1])
    })
  )

  it.effect("answer one question once each, however many answers are wanted", () =>
    Effect.gen(function* () {
      const { failover } = nodesThat([undefined, rpcFailed("server_error"), undefined])
      expect(yield* failover.ask(2, question)).toEqual([0n, 2n])
      expect(yield* Effect.flip(failover.ask(3, question))).toMatchObject({ kind: "server_error" })
    })
  )

  it.effect("are not asked before they have shown who they are", () =>
    Effect.gen(function* () {
      const stranger = aNode({ identify: Effect.fail(rpcFailed("not_configured")) })
      const known = aNode({ balanceOf: () => Effect.succeed(7n) })
      expect(yield* Failover.make([stranger, known]).ask(1, question)).toEqual([7n])
    })
  )

  it.effect("fail when there are none", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(Failover.make([]).ask(1, question))).toMatchObject({ kind: "not_configured" })
    })
  )
})
