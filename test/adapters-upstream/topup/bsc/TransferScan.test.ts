import type { BscNode, Transfer } from "@tollgate/adapters-upstream/topup/bsc/BscNode"
import { completedIn, scan } from "@tollgate/adapters-upstream/topup/bsc/TransferScan"
import { Effect, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { aNode, rpcFailed } from "./FakeNode.ts"

const transfer = (block: number, amountRaw = 1n): Transfer => ({ transaction: `in ${block}`, block, amountRaw })

/** Creates a BSC node that has these transfers and accepts ranges of at most `widest` blocks. */
const nodeOf = (transfers: ReadonlyArray<Transfer>, widest: number, code = -32000) => {
  const ranges: Array<readonly [number, number]> = []
  const node: BscNode = aNode({
    transfers: ({ fromBlock, toBlock }) => {
      ranges.push([fromBlock, toBlock])
      return toBlock - fromBlock + 1 > widest
        ? Effect.fail(rpcFailed("rejected", code))
        : Effect.succeed(transfers.filter(({ block }) => block >= fromBlock && block <= toBlock))
    }
  })
  return { node, ranges }
}

const sought = (fromBlock: number, toBlock: number, amountRaw: bigint) => ({
  contract: "",
  to: "",
  fromBlock,
  toBlock,
  amountRaw
})

describe("the search for transfers", () => {
  it("stops when the transfers found add up to the balance", async () => {
    const { node, ranges } = nodeOf([transfer(10), transfer(55), transfer(72)], 20)
    const found = await Effect.runPromise(scan(node, sought(1, 100, 2n), 20))
    expect(found).toEqual([transfer(55), transfer(72)])
    expect(ranges).toEqual([
      [81, 100],
      [61, 80],
      [41, 60]
    ])
  })

  it("halves a range that the node refuses", async () => {
    const { node, ranges } = nodeOf([transfer(99)], 30, -32602)
    expect(await Effect.runPromise(scan(node, sought(1, 100, 1n), 100))).toEqual([transfer(99)])
    expect(ranges).toEqual([
      [1, 100],
      [51, 100],
      [76, 100]
    ])
  })

  it("queries a node without logs once", async () => {
    const { node, ranges } = nodeOf([], 0, -32601)
    expect(await Effect.runPromise(Effect.flip(scan(node, sought(1, 100, 1n), 100)))).toMatchObject({ code: -32601 })
    expect(ranges).toHaveLength(1)
  })

  it("returns the transfers found before a failure", async () => {
    const { node } = nodeOf([transfer(5), transfer(99)], 10)
    const failing = aNode({
      transfers: (filter) => (filter.toBlock < 50 ? Effect.fail(rpcFailed("network")) : node.transfers(filter))
    })
    expect(await Effect.runPromise(scan(failing, sought(1, 100, 2n), 10))).toEqual([transfer(99)])
  })

  it("finds all transfers in 60 blocks with at most twelve queries", () => {
    const blocks = FastCheck.uniqueArray(FastCheck.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 })
    FastCheck.assert(
      FastCheck.property(
        blocks,
        FastCheck.integer({ min: 15, max: 200 }),
        FastCheck.integer({ min: 15 }),
        (at, range, widest) => {
          const transfers = [...at].sort((a, b) => a - b).map((block) => transfer(block))
          const { node, ranges } = nodeOf(transfers, widest)
          const found = Effect.runSync(scan(node, sought(1, 60, BigInt(at.length)), range))
          expect(found).toEqual(transfers)
          expect(ranges.length).toBeLessThanOrEqual(12)
        }
      )
    )
  })
})

describe("the block that completed a deposit", () => {
  it("is the first block with the whole expected amount", () => {
    const transfers = [transfer(3, 4n), transfer(5, 6n), transfer(8, 1n)]
    expect(completedIn(transfers, 10n, 11n)).toBe(5)
    expect(completedIn(transfers, 11n, 11n)).toBe(8)
  })

  it("is unknown if transfers are missing", () => {
    expect(completedIn([transfer(5, 6n)], 5n, 11n)).toBeUndefined()
    expect(completedIn([], 1n, 1n)).toBeUndefined()
  })
})
