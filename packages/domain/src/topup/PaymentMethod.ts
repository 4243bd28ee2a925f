/**
 * Defines the payment methods for quota, and the instructions for one payment (docs/reference/reseller.md#top-1).
 */
import * as Schema from "effect/Schema"
import type { TokenRaw } from "../money/TokenRaw.ts"

/** `qris` and `hosted_qris` are paid in rupiah. `crypto` and `crypto_bep20` are paid in dollar tokens. */
export const PaymentMethod = Schema.Literal("qris", "hosted_qris", "crypto", "crypto_bep20")
export type PaymentMethod = typeof PaymentMethod.Type

/** The dollar tokens of the methods `crypto` and `crypto_bep20`. */
export const TokenKind = Schema.Literal("usdt", "usdc")
export type TokenKind = typeof TokenKind.Type

/**
 * A payment cannot be opened now, or the payment of a webhook cannot be read now: the method has no provider, the
 * provider fails, or a limit of this server is reached.
 */
export class PaymentProviderUnavailable extends Schema.TaggedError<PaymentProviderUnavailable>()(
  "PaymentProviderUnavailable",
  { retryAfterSeconds: Schema.Int }
) {}

/** An address to which the order can be paid. If an order has several addresses, any of them can be used. */
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
 * The destination and the amount of a payment, as the provider returned them when it opened the payment. They never
 * change (docs/reference/reseller.md#top-ups).
 */
export type PaymentInstructions =
  | {
      readonly _tag: "Qris"
      readonly qrContent: string
      /**
       * The URL of the provider's image of the QR code; undefined if the provider has none. The server then makes an
       * image.
       */
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
 * Returns whether more money can arrive for a paid order. A deposit address can receive any number of transfers. A QRIS
 * code can be paid only once.
 */
export const canReceiveMore = (method: PaymentMethod): boolean => method === "crypto" || method === "crypto_bep20"

/**
 * Returns the payment destinations for operators: the URL of a QR image or payment page, or the deposit address on each
 * network. Returns none for a QR code of which the provider has no image.
 */
export const destinationsOf = (instructions: PaymentInstructions): ReadonlyArray<string> => {
  switch (instructions._tag) {
    case "Qris":
      return instructions.qrImageUrl === undefined ? [] : [instructions.qrImageUrl]
    case "HostedQris":
      return [instructions.paymentUrl]
    case "Crypto":
      return instructions.depositAddresses.map(({ depositAddress, network }) => `${network}:${depositAddress}`)
    case "Bep20":
      return [`${instructions.network}:${instructions.depositAddress}`]
  }
}
