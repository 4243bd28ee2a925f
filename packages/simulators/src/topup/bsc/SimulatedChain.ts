/**
 * Simulates a chain of blocks. The number of the newest block is computed from the clock. The chain contains only token
 * transfers, and is empty when the process starts.
 */
import { createHash, randomBytes } from "node:crypto"

const BLOCK_MILLIS = 450
/** A block is final when this many later blocks exist. */
const FINAL_AFTER = 2
const MAX_TRANSFERS = 10_000

export interface TokenTransfer {
  /** The address of the token contract, in lower case. */
  readonly contract: string
  /** The address of the recipient, in lower case. */
  readonly to: string
  /** The amount in the smallest unit of the token. */
  readonly raw: bigint
  readonly block: number
  readonly transactionHash: string
}

export const newestBlock = (now: number): number => Math.floor(now / BLOCK_MILLIS)

export const finalizedBlock = (now: number): number => Math.max(0, newestBlock(now) - FINAL_AFTER)

/** Returns the timestamp of a block in Unix milliseconds. */
export const minedAt = (block: number): number => block * BLOCK_MILLIS

export const blockHash = (block: number): string =>
  `0x${createHash("sha256").update(`simulated block ${block}`).digest("hex")}`

export class SimulatedChain {
  /** The last {@link MAX_TRANSFERS} transfers, oldest first. */
  readonly #transfers: Array<TokenTransfer> = []

  /** Adds a transfer to the next block. */
  transfer(contract: string, to: string, raw: bigint, now: number): void {
    this.#transfers.push({
      contract: contract.toLowerCase(),
      to: to.toLowerCase(),
      raw,
      block: newestBlock(now) + 1,
      transactionHash: `0x${randomBytes(32).toString("hex")}`
    })
    if (this.#transfers.length > MAX_TRANSFERS) this.#transfers.shift()
  }

  /**
   * Returns the balance at a block. Without a block number, the balance includes all stored transfers, even those in
   * future blocks.
   */
  balanceOf(contract: string, address: string, block: number = Number.POSITIVE_INFINITY): bigint {
    return this.transfers(0, block)
      .filter((transfer) => transfer.contract === contract.toLowerCase() && transfer.to === address.toLowerCase())
      .reduce((sum, { raw }) => sum + raw, 0n)
  }

  /**
   * Returns the time at which all stored transfers to an address are final, in Unix milliseconds; `now` if they are
   * already final or there are none.
   */
  finalAt(address: string, now: number): number {
    const last = this.#transfers.findLast(({ to }) => to === address.toLowerCase())
    return last === undefined ? now : Math.max(now, minedAt(last.block + FINAL_AFTER))
  }

  /** Returns the transfers from block `fromBlock` to block `toBlock`, both included. */
  transfers(fromBlock: number, toBlock: number): ReadonlyArray<TokenTransfer> {
    return this.#transfers.filter(({ block }) => block >= fromBlock && block <= toBlock)
  }
}
