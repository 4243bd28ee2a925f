/**
 * How a reseller pays for quota: the methods, and the instructions for one payment (docs/reference/reseller.md#top-1).
 */
import * as Schema from "effect/Schema"
import type { TokenRaw } from "../money/TokenRaw.ts"

/** `qris` and `hosted_qris` are paid in rupiah, `crypto` and `crypto_bep20` in dollar tokens, one for one. */
export const PaymentMethod = Schema.Literal("qris", "hosted_qris", "crypto", "crypto_bep20")
export type PaymentMethod = typeof PaymentMethod.Type

/** The dollar tokens of `crypto_bep20`. */
export const TokenKind = Schema.Literal("usdt", "usdc")
export type TokenKind = typeof TokenKind.Type

/** No provider can take a payment of this method now. */
export class PaymentProviderUnavailable extends Schema.TaggedError<PaymentProviderUnavailable>()(
  "PaymentProviderUnavailable",
  { retryAfterSeconds: Schema.Int }
) {}

/** One address of several; a payment to any of them pays the order. */
export interface DepositAddress {
  /** The provider's name of the network, for example `trx`, `bsc`. */
  readonly network: string
  readonly tokenKind: TokenKind
  readonly depositAddress: string
  /** In whole tokens, as decimal digits, exactly as it must be sent. */
  readonly amount: string
  readonly memo: string | undefined
}

/**
 * Where and what to pay, as the provider returned it when the order was made. It never changes
 * (docs/reference/reseller.md#top-ups).
 */
export type PaymentInstructions =
  | {
      readonly _tag: "Qris"
      readonly qrContent: string
      /** Absent where the provider has no image: the server serves one instead. */
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

/** Whether more can arrive for a paid order: an address receives any transfer, a QRIS code is paid once. */
export const canReceiveMore = (method: PaymentMethod): boolean => method === "crypto" || method === "crypto_bep20"
