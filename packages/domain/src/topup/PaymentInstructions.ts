/**
 * Where and what to pay, as a provider gave it when the order was made. Never changed afterwards (spec: Top-up order).
 */
import type { TokenRaw } from "../money/TokenRaw.ts"
import type { TokenKind } from "./PaymentMethod.ts"

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

export type PaymentInstructions =
  | {
      readonly _tag: "Qris"
      readonly qrContent: string
      /** Absent where the provider has no picture: we serve one then. */
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
