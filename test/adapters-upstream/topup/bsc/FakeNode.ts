/**
 * Creates scripted nodes of BNB Smart Chain, in memory or over HTTP.
 */
import type { BscNode } from "@tollgate/adapters-upstream/topup/bsc/BscNode"
import { RpcFailed } from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Effect } from "effect"
import type { ReceivedRequest } from "../../../support/ScriptedUpstream.ts"
import { json, type Script } from "../../../support/upstream/Script.ts"

export const aNode = (responses: Partial<BscNode> = {}): BscNode => ({
  name: "a node",
  identify: Effect.void,
  finalizedBlock: Effect.dieMessage("unexpected query for the last final block"),
  block: () => Effect.dieMessage("unexpected query for a block"),
  balanceOf: () => Effect.dieMessage("unexpected query for a balance"),
  transfers: () => Effect.dieMessage("unexpected query for transfers"),
  ...responses
})

export const rpcFailed = (kind: RpcFailed["kind"], code?: number): RpcFailed =>
  new RpcFailed({ kind, code, detail: `${kind} ${code ?? ""}`.trim() })

export interface WireNodeFacts {
  readonly chainId: number
  readonly decimals: bigint
  readonly balance: bigint
  /** The timestamp of every block. */
  readonly time: Date
}

export const wireNode =
  (facts: WireNodeFacts) =>
  (request: ReceivedRequest): Script => {
    const { method, params } = request.json() as { method: string; params: ReadonlyArray<{ data?: string }> }
    if (method === "eth_chainId") return result(quantity(facts.chainId))
    if (method === "eth_getBlockByNumber") {
      return result({ number: "0x64", timestamp: quantity(facts.time.getTime() / 1_000), hash: "0x00" })
    }
    if (method === "eth_call") return result(word(params[0]?.data === "0x313ce567" ? facts.decimals : facts.balance))
    return json({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "the method does not exist" } })
  }

export const result = (value: unknown): Script => json({ jsonrpc: "2.0", id: 1, result: value })

export const quantity = (n: number): string => `0x${n.toString(16)}`
export const word = (n: bigint): string => `0x${n.toString(16).padStart(64, "0")}`
