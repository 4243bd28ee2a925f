/**
 * Simulates a chain of blocks: the clock decides which block is the newest. The chain contains only token transfers,
 * and is empty when the process starts.
 */
import { createHash, randomBytes } from "node:crypto"

const BLOCK_MILLIS = 450
/** The number of later blocks after which a block is final. */
const FINAL_AFTER = 2
const MAX_TRANSFERS = 10_000

export interface TokenTransfer {
  /** The contract address and the recipient, both in lower case. */
  readonly contract: string
  readonly to: string
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
  /** The transfers in the order of their blocks. */
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

  /** Returns the balance at a block, or the balance including transfers of future blocks. */
  balanceOf(contract: string, address: string, block: number = Number.POSITIVE_INFINITY): bigint {
    return this.transfers(0, block)
      .filter((transfer) => transfer.contract === contract.toLowerCase() && transfer.to === address.toLowerCase())
      .reduce((sum, { raw }) => sum + raw, 0n)
  }

  /** Returns the time at which all transfers to an address are final, in Unix milliseconds; `now` without transfers. */
  settledAt(address: string, now: number): number {
    const last = this.#transfers.findLast(({ to }) => to === address.toLowerCase())
    return last === undefined ? now : Math.max(now, minedAt(last.block + FINAL_AFTER))
  }

  /** Returns the transfers from the first to the last block, both included. */
  transfers(fromBlock: number, toBlock: number): ReadonlyArray<TokenTransfer> {
    return this.#transfers.filter(({ block }) => block >= fromBlock && block <= toBlock)
  }
}
