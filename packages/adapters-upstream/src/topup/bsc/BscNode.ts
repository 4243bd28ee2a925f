/**
 * Reads balances, blocks and transfers from one node of BNB Smart Chain. A node is used only after `identify` has
 * checked that it serves the right chain and tokens. `finalizedBlock` fails for a node that is behind the chain,
 * because such a node would report new payments late or never.
 *
 * Balances are read at the `finalized` block. No chain reorganisation can revert this block, so confirmations are not
 * counted.
 */
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  balanceOfCall,
  CHAIN_ID,
  DECIMALS_CALL,
  TOKEN_CONTRACTS,
  TOKEN_DECIMALS,
  transferTopicsTo
} from "./BscTokens.ts"
import { type JsonRpc, Quantity, quantityOf, RpcFailed, Word } from "./JsonRpc.ts"

export interface Block {
  readonly number: number
  readonly minedAt: Date
}

/** A transfer of tokens to an address. `amountRaw` is in the smallest unit of the token. */
export interface Transfer {
  readonly transaction: string
  readonly block: number
  readonly amountRaw: bigint
}

export interface TransferFilter {
  readonly contract: string
  readonly to: string
  readonly fromBlock: number
  readonly toBlock: number
}

export interface BscNode {
  readonly name: string
  /**
   * Fails if the node serves another chain, or tokens with an unexpected number of decimals. A successful check is
   * cached.
   */
  readonly identify: Effect.Effect<void, RpcFailed>
  /**
   * Returns the last final block. Fails if the block is older than a minute, because the node is then probably behind
   * the chain.
   */
  readonly finalizedBlock: Effect.Effect<Block, RpcFailed>
  readonly block: (number: number) => Effect.Effect<Block, RpcFailed>
  /** Returns the token balance of an address at the last final block, in the smallest unit of the token. */
  readonly balanceOf: (contract: string, holder: string) => Effect.Effect<bigint, RpcFailed>
  /** Returns the matching transfers in the order of the node's response, normally oldest first. */
  readonly transfers: (filter: TransferFilter) => Effect.Effect<ReadonlyArray<Transfer>, RpcFailed>
}

/**
 * The maximum age of the last final block. Blocks normally become final within a few seconds. The limit is shorter than
 * the time for which an expired order is still refreshed, so a payment shortly before the expiry is found.
 */
const MAX_LAG_MILLIS = 60_000

/**
 * The maximum plausible balance in the smallest unit: a trillion tokens, which is more than exist and less than the
 * ledger can store.
 */
const MAX_BALANCE = 10n ** 30n

/** The upper bound of a block timestamp in seconds. JavaScript can represent every smaller timestamp as a date. */
const TIMESTAMP_BELOW = 2 ** 40

const BlockHead = Schema.Struct({ number: Quantity, timestamp: Quantity.pipe(Schema.lessThan(TIMESTAMP_BELOW)) })
const Logs = Schema.Array(
  Schema.Struct({
    address: Schema.String,
    topics: Schema.Array(Schema.String),
    data: Word,
    blockNumber: Quantity,
    transactionHash: Schema.String.pipe(Schema.pattern(/^0x[0-9a-f]{64}$/i))
  })
)

export const make = (rpc: JsonRpc): BscNode => {
  const failed = (kind: RpcFailed["kind"], why: string) =>
    new RpcFailed({ kind, code: undefined, detail: `${rpc.name}: ${why}` })

  const ask = (contract: string, data: string) => rpc.call("eth_call", [{ to: contract, data }, "finalized"], Word)

  const block = (tag: string) =>
    Effect.map(
      rpc.call("eth_getBlockByNumber", [tag, false], BlockHead),
      ({ number, timestamp }): Block => ({ number, minedAt: new Date(timestamp * 1_000) })
    )

  let identified = false
  const identify = Effect.gen(function* () {
    if (identified) return
    const chainId = yield* rpc.call("eth_chainId", [], Quantity)
    if (chainId !== CHAIN_ID) return yield* failed("not_configured", `serves chain ${chainId}, not ${CHAIN_ID}`)
    const kinds: ReadonlyArray<TokenKind> = ["usdt", "usdc"]
    for (const kind of kinds) {
      const decimals = yield* ask(TOKEN_CONTRACTS[kind], DECIMALS_CALL)
      if (decimals !== TOKEN_DECIMALS) {
        return yield* failed("not_configured", `${kind} has ${decimals} decimals on this node, not ${TOKEN_DECIMALS}`)
      }
    }
    identified = true
  })

  return {
    name: rpc.name,
    identify,
    finalizedBlock: Effect.gen(function* () {
      const last = yield* block("finalized")
      const behind = (yield* Clock.currentTimeMillis) - last.minedAt.getTime()
      if (behind <= MAX_LAG_MILLIS) return last
      const seconds = Math.round(behind / 1_000)
      return yield* failed(
        "bad_response",
        `the last final block is ${seconds} s old: the node is behind the chain, or the clock of this server is fast`
      )
    }),
    block: (number) => block(quantityOf(number)),
    balanceOf: (contract, holder) =>
      Effect.flatMap(ask(contract, balanceOfCall(holder)), (balance) =>
        balance <= MAX_BALANCE
          ? Effect.succeed(balance)
          : failed("bad_response", "reports a balance of more tokens than exist")
      ),
    transfers: ({ contract, to, fromBlock, toBlock }) => {
      const topics = transferTopicsTo(to)
      const filter = {
        address: contract,
        topics,
        fromBlock: quantityOf(fromBlock),
        toBlock: quantityOf(toBlock)
      }
      return Effect.map(rpc.call("eth_getLogs", [filter], Logs), (logs) =>
        logs.flatMap((log): ReadonlyArray<Transfer> => {
          // Check the contract, the event and the recipient again, because some nodes ignore the filter of the request.
          const isOurs = same(log.address, contract) && same(log.topics[0], topics[0]) && same(log.topics[2], topics[2])
          if (!isOurs) return []
          return [{ transaction: log.transactionHash, block: log.blockNumber, amountRaw: log.data }]
        })
      )
    }
  }
}

const same = (a: string | undefined, b: string | null | undefined): boolean =>
  a !== undefined && b !== null && b !== undefined && a.toLowerCase() === b.toLowerCase()
