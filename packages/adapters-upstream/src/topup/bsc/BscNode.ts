/**
 * Reads from one node of the chain. A node is used only after a check that it serves the right chain and tokens, and
 * only while it keeps up with the chain: a node that is behind would never report a new payment.
 *
 * Balances are read at the `finalized` block, which no reorganisation can revert; confirmations are not counted.
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

/** A transfer of tokens to an address. */
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
  /** Fails unless the node serves this chain and these tokens. The result is cached. */
  readonly identify: Effect.Effect<void, RpcFailed>
  /** Returns the last final block. Fails if this block is too old. */
  readonly finalizedBlock: Effect.Effect<Block, RpcFailed>
  readonly block: (number: number) => Effect.Effect<Block, RpcFailed>
  /** Returns the token balance of a holder at the last final block. */
  readonly balanceOf: (contract: string, holder: string) => Effect.Effect<bigint, RpcFailed>
  /** Returns the matching transfers in the order of the chain. */
  readonly transfers: (filter: TransferFilter) => Effect.Effect<ReadonlyArray<Transfer>, RpcFailed>
}

/** The maximum age of the last final block. Shorter than the time in which an expired order can still be found paid. Blocks
 * normally become final within a few seconds. */
const MAX_LAG_MILLIS = 60_000

/** The maximum plausible balance: a trillion tokens, which is more than exist and less than the ledger can hold. */
const MAX_BALANCE = 10n ** 30n

/** The upper bound of a block timestamp in seconds. A larger number is not a valid date. */
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
        return yield* failed("not_configured", `${kind} has ${decimals} decimals there, not ${TOKEN_DECIMALS}`)
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
      return yield* failed("bad_response", `its last final block is ${seconds} s old, or the clock here is fast`)
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
          // Check the addresses again, because a node may ignore the filter.
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
