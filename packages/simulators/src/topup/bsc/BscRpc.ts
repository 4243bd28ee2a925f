/**
 * Serves JSON-RPC for the simulated chain as public BSC nodes do. Quantities are hexadecimal without leading zeros.
 * Errors have HTTP status 200 and a member `error`. A request for the logs of more than 5,000 blocks is refused. Some
 * nodes do not count `fromBlock` as one of these blocks. The simulator counts it, as the stricter nodes do.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { json, type WireResponse } from "../payment/SimulatedProvider.ts"
import {
  blockHash,
  finalizedBlock,
  minedAt,
  newestBlock,
  type SimulatedChain,
  type TokenTransfer
} from "./SimulatedChain.ts"

/** The symbols of the two dollar tokens by their real contract addresses. */
export const BSC_TOKENS: { readonly [contract: string]: string } = {
  "0x55d398326f99059ff775485246999027b3197955": "USDT",
  "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d": "USDC"
}
export const BSC_TOKEN_DECIMALS = 18

const CHAIN_ID = 56
const MAX_LOG_BLOCKS = 5_000
const MAX_BATCH_CALLS = 100
const DECIMALS_CALL = "0x313ce567"
const BALANCE_CALL = "0x70a08231"
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const ZERO_WORD = `0x${"0".repeat(64)}`

export interface BscRpcOptions {
  readonly chain: SimulatedChain
  /** Called for each valid request for a balance of USDT or USDC. */
  readonly onBalance: (contract: string, address: string, now: number) => void
}

/** Responds to one JSON-RPC call or to a batch of calls. */
export const respondRpc = (options: BscRpcOptions, body: string, now: number): WireResponse => {
  const calls = parse(body)
  if (calls === undefined) return json(200, failure(null, -32700, "parse error"))
  if (!Array.isArray(calls)) return json(200, respondToCall(options, calls, now))
  if (calls.length === 0 || calls.length > MAX_BATCH_CALLS)
    return json(200, failure(null, -32600, `a batch of ${calls.length} calls is not allowed`))
  return json(
    200,
    calls.map((call) => respondToCall(options, call, now))
  )
}

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

class RpcRefusal {
  readonly code: number
  readonly message: string

  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

const failure = (id: unknown, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })

const respondToCall = (options: BscRpcOptions, call: unknown, now: number): JsonObject => {
  const request = asObject(call)
  const id = request?.id ?? null
  if (request === undefined || typeof request.method !== "string") return failure(id, -32600, "invalid request")
  const result = resultOf(options, request.method, asArray(request.params), now)
  return result instanceof RpcRefusal ? failure(id, result.code, result.message) : { jsonrpc: "2.0", id, result }
}

const resultOf = (options: BscRpcOptions, method: string, params: ReadonlyArray<unknown>, now: number): unknown => {
  switch (method) {
    case "eth_chainId":
      return quantity(CHAIN_ID)
    case "net_version":
      return `${CHAIN_ID}`
    case "web3_clientVersion":
      return "SIMULATOR-NOT-REAL/bsc"
    case "eth_syncing":
      return false
    case "eth_blockNumber":
      return quantity(newestBlock(now))
    case "eth_getBlockByNumber": {
      const block = blockOf(params[0], now)
      return block === undefined ? invalid(0) : block > newestBlock(now) ? null : header(block)
    }
    case "eth_call":
      return contractCall(options, asObject(params[0]), blockOf(params[1] ?? "latest", now), now)
    case "eth_getLogs":
      return logs(options.chain, asObject(params[0]), now)
    default:
      return new RpcRefusal(-32601, `the method ${method} does not exist/is not available`)
  }
}

const invalid = (argument: number) => new RpcRefusal(-32602, `invalid argument ${argument}`)

const quantity = (value: number): string => `0x${value.toString(16)}`

const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`

/** Returns the block number for a tag or a hexadecimal number; `undefined` for any other value. */
const blockOf = (tag: unknown, now: number): number | undefined => {
  switch (tag) {
    case "latest":
    case "pending":
      return newestBlock(now)
    case "safe":
      return Math.max(0, newestBlock(now) - 1)
    case "finalized":
      return finalizedBlock(now)
    case "earliest":
      return 0
    default:
      return /^0x(0|[1-9a-f][0-9a-f]{0,11})$/i.test(asText(tag)) ? Number(asText(tag)) : undefined
  }
}

const header = (block: number): JsonObject => ({
  number: quantity(block),
  hash: blockHash(block),
  parentHash: block === 0 ? ZERO_WORD : blockHash(block - 1),
  timestamp: quantity(Math.floor(minedAt(block) / 1_000)),
  gasLimit: "0x3473bc0",
  gasUsed: "0x0",
  miner: `0x${"0".repeat(40)}`,
  extraData: `0x${Buffer.from("SIMULATOR NOT REAL").toString("hex")}`,
  transactions: [],
  uncles: []
})

const contractCall = (
  { chain, onBalance }: BscRpcOptions,
  call: JsonObject | undefined,
  block: number | undefined,
  now: number
): unknown => {
  const contract = asText(call?.to).toLowerCase()
  const data = asText(call?.data ?? call?.input).toLowerCase()
  if (!ADDRESS.test(contract)) return invalid(0)
  if (block === undefined) return invalid(1)
  if (block > newestBlock(now)) return new RpcRefusal(-32000, "header not found")
  if (BSC_TOKENS[contract] === undefined) return "0x"
  if (data === DECIMALS_CALL) return word(BigInt(BSC_TOKEN_DECIMALS))
  const owner = BALANCE_ARGUMENT.exec(data)?.[1]
  if (owner === undefined) return new RpcRefusal(3, "execution reverted")
  onBalance(contract, `0x${owner}`, now)
  return word(chain.balanceOf(contract, `0x${owner}`, block))
}

const ADDRESS = /^0x[0-9a-f]{40}$/
const BALANCE_ARGUMENT = new RegExp(`^${BALANCE_CALL}0{24}([0-9a-f]{40})$`)

const logs = (chain: SimulatedChain, filter: JsonObject | undefined, now: number): unknown => {
  const from = blockOf(filter?.fromBlock ?? "latest", now)
  const to = blockOf(filter?.toBlock ?? "latest", now)
  if (filter === undefined || from === undefined || to === undefined) return invalid(0)
  if (from > to) return new RpcRefusal(-32602, "invalid block range params")
  if (to - from >= MAX_LOG_BLOCKS) return new RpcRefusal(-32000, `exceed maximum block range: ${MAX_LOG_BLOCKS}`)
  const contracts = oneOf(filter.address)
  const topics = asArray(filter.topics).map(oneOf)
  return chain
    .transfers(from, Math.min(to, newestBlock(now)))
    .map(logOf)
    .filter((log) => contracts === undefined || contracts.includes(log.address))
    .filter((log) => topics.every((wanted, i) => wanted === undefined || wanted.includes(log.topics[i] ?? "")))
}

/** Returns the accepted values of a filter; `undefined` if the filter accepts every value. */
const oneOf = (wanted: unknown): ReadonlyArray<string> | undefined =>
  wanted === undefined || wanted === null
    ? undefined
    : (Array.isArray(wanted) ? wanted : [wanted]).map((each) => asText(each).toLowerCase())

const logOf = ({ block, contract, raw, to, transactionHash }: TokenTransfer) => ({
  address: contract,
  topics: [TRANSFER_TOPIC, ZERO_WORD, word(BigInt(to))],
  data: word(raw),
  blockNumber: quantity(block),
  blockHash: blockHash(block),
  transactionHash,
  transactionIndex: "0x0",
  logIndex: "0x0",
  removed: false
})
