/**
 * The payment methods for quota, and the instructions for one payment (docs/reference/reseller.md#top-1).
 */
import * as Schema from "effect/Schema"
import type { TokenRaw } from "../money/TokenRaw.ts"

/** `qris` and `hosted_qris` are paid in rupiah; `crypto` and `crypto_bep20` in dollar tokens, each worth one USD of quota. */
export const PaymentMethod = Schema.Literal("qris", "hosted_qris", "crypto", "crypto_bep20")
export type PaymentMethod = typeof PaymentMethod.Type

/** The dollar tokens that `crypto_bep20` accepts. */
export const TokenKind = Schema.Literal("usdt", "usdc")
export type TokenKind = typeof TokenKind.Type

/** No provider can accept a payment by this method now. */
export class PaymentProviderUnavailable extends Schema.TaggedError<PaymentProviderUnavailable>()(
  "PaymentProviderUnavailable",
  { retryAfterSeconds: Schema.Int }
) {}

/** One of several deposit addresses. A payment to any of these addresses pays the order. */
export interface DepositAddress {
  /** The provider's name for the network, for example `trx` or `bsc`. */
  readonly network: string
  readonly tokenKind: TokenKind
  readonly depositAddress: string
  /** The exact amount to send, in tokens, as a decimal string. */
  readonly amount: string
  readonly memo: string | undefined
}

/**
 * The amount and destination of a payment, as the provider returned them when the payment was opened. They never change
 * (docs/reference/reseller.md#top-ups).
 */
export type PaymentInstructions =
  | {
      readonly _tag: "Qris"
      readonly qrContent: string
      /** Undefined if the provider has no image; the server then generates one. */
      readonly qrImageUrl: string | undefined
    }
  | { readonly _tag: "HostedQris"; readonly qrContent: string; readonly paymentUrl: string }
  | { readonly _tag: "Crypto"; readonly depositAddresses: ReadonlyArray<DepositAddress> }
  | {
      readonly _tag: "Bep20"
      readonly network: "bsc"
      readonly chainId: 56
      readonly tokenKind: TokenKind
      readonly contractAddress: string
      readonly expectedRaw: TokenRaw
      readonly depositAddress: string
    }

/**
 * Returns whether more money can arrive for a paid order: a deposit address receives any number of transfers, but a QRIS code
 * is paid once.
 */
export const canReceiveMore = (method: PaymentMethod): boolean => method === "crypto" || method === "crypto_bep20"
