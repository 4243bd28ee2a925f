/**
 * BNB Smart Chain and its two dollar tokens, as far as payments go.
 *
 * A node that serves another chain, or tokens of other decimals, is not believed in anything (see BscNode).
 */
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"

export const CHAIN_ID = 56
/** Of both tokens on this chain; on others they have 6. */
export const TOKEN_DECIMALS = 18n

export const TOKEN_CONTRACTS: Readonly<Record<TokenKind, string>> = {
  usdt: "0x55d398326f99059fF775485246999027B3197955",
  usdc: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"
}

export const otherToken = (kind: TokenKind): TokenKind => (kind === "usdt" ? "usdc" : "usdt")
