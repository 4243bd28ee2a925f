/**
 * Searches for the transfers that add up to a received amount, from the newest block backwards. The transfers are
 * evidence and give the time of the payment. The balance, not the transfers, decides whether the order is paid.
 *
 * Many BSC nodes search only a few blocks per call or refuse every search, and they report their limits in different
 * ways. The scan therefore halves the searched range of blocks after a refusal that may have this cause, at most four
 * times.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { BscNode, Transfer } from "./BscNode.ts"
import type { RpcFailed } from "./JsonRpc.ts"

export interface Sought {
  readonly contract: string
  readonly to: string
  readonly fromBlock: number
  readonly toBlock: number
  /** The received amount that the transfers should add up to, in the smallest unit of the token. */
  readonly amountRaw: bigint
}

const MAX_CALLS = 12
const MAX_HALVINGS = 4
const METHOD_NOT_FOUND = -32601

/** Returns the transfers that were found, normally oldest first. Some may be missing. */
export const scan = (
  node: BscNode,
  { contract, to, fromBlock, toBlock, amountRaw }: Sought,
  logRange: number
): Effect.Effect<ReadonlyArray<Transfer>, RpcFailed> =>
  Effect.gen(function* () {
    let found: ReadonlyArray<Transfer> = []
    let last = toBlock
    let range = logRange
    let halvings = 0
    for (let calls = 0; calls < MAX_CALLS && last >= fromBlock && sumOf(found) < amountRaw; calls += 1) {
      const first = Math.max(fromBlock, last - range + 1)
      const result = yield* Effect.either(node.transfers({ contract, to, fromBlock: first, toBlock: last }))
      if (Either.isRight(result)) {
        found = [...result.right, ...found]
        last = first - 1
      } else if (mayBeTooWide(result.left) && range > 1 && halvings < MAX_HALVINGS) {
        range = Math.ceil(range / 2)
        halvings += 1
      } else {
        return found.length > 0 ? found : yield* result.left
      }
    }
    return found
  })

/**
 * Returns the block of the transfer that completed the amount `enoughRaw`. Returns `undefined` if the transfers do not
 * add up to the received amount `allRaw`, or if `allRaw` is smaller than `enoughRaw`.
 */
export const completedIn = (
  transfers: ReadonlyArray<Transfer>,
  enoughRaw: bigint,
  allRaw: bigint
): number | undefined =>
  sumOf(transfers) === allRaw
    ? transfers.find((_, i) => sumOf(transfers.slice(0, i + 1)) >= enoughRaw)?.block
    : undefined

const mayBeTooWide = ({ kind, code }: RpcFailed): boolean => kind === "rejected" && code !== METHOD_NOT_FOUND

const sumOf = (transfers: ReadonlyArray<Transfer>): bigint =>
  transfers.reduce((sum, { amountRaw }) => sum + amountRaw, 0n)
