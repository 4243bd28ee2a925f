/**
 * Defines the constants of BNB Smart Chain and of its tokens USDT and USDC, and encodes calls to the ERC-20 contracts
 * of the tokens.
 *
 * A BSC node that serves another chain, or tokens with another number of decimals, is not used (see BscNode). An
 * encoded call consists of the first four bytes of the hash of the function signature, followed by the arguments as
 * words of 32 bytes.
 */
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"

export const CHAIN_ID = 56
/** The number of decimals of both tokens on this chain. On many other chains both tokens have 6 decimals. */
export const TOKEN_DECIMALS = 18n

export const TOKEN_CONTRACTS: Readonly<Record<TokenKind, string>> = {
  usdt: "0x55d398326f99059fF775485246999027B3197955",
  usdc: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"
}

export const otherToken = (kind: TokenKind): TokenKind => (kind === "usdt" ? "usdc" : "usdt")

/** The encoded call of the function `decimals()`. */
export const DECIMALS_CALL = "0x313ce567"

/** Encodes a call of the function `balanceOf(address)`. */
export const balanceOfCall = (holder: string): string => `0x70a08231${word(holder)}`

/** The topic of the event `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** Returns the topics that select transfers to a holder from any sender. */
export const transferTopicsTo = (holder: string): ReadonlyArray<string | null> => [
  TRANSFER_TOPIC,
  null,
  `0x${word(holder)}`
]

const word = (address: string): string => address.slice("0x".length).toLowerCase().padStart(64, "0")
