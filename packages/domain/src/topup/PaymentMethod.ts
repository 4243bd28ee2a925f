/**
 * How a reseller pays for quota (spec: POST /api/reseller/topup).
 */
import * as Schema from "effect/Schema"

/** `qris` and `hosted_qris` are paid in rupiah, `crypto` and `crypto_bep20` in dollar tokens, one for one. */
export const PaymentMethod = Schema.Literal("qris", "hosted_qris", "crypto", "crypto_bep20")
export type PaymentMethod = typeof PaymentMethod.Type

/** Whether more can come for an order that is paid: an address takes whatever is sent to it, a QRIS code is paid once. */
export const canReceiveMore = (method: PaymentMethod): boolean => method === "crypto" || method === "crypto_bep20"

/** The dollar tokens of `crypto_bep20`. */
export const TokenKind = Schema.Literal("usdt", "usdc")
export type TokenKind = typeof TokenKind.Type
