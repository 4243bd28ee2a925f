/**
 * Describes the deposit of one order: its address, expected amount, and balance before the payment. The deposit is
 * stored when the payment is opened, so that the order can be refreshed after the settings have changed.
 */
import type { OpenedPayment } from "@tollgate/application/topup/PaymentProviders"
import type { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The JSON that is stored in {@link OpenedPayment.state}. */
export const DepositState = Schema.Struct({
  /** The index of the address in the wallet, which an operator needs to find the address. */
  depositIndex: Schema.NonNegativeInt,
  /**
   * The balance of the address when the payment was opened, in the smallest unit of the token. The balance is normally
   * zero and is not part of the payment.
   */
  baselineRaw: Schema.NonNegativeBigInt,
  /** The first block that can contain the payment. Earlier transfers do not belong to the order. */
  fromBlock: Schema.NonNegativeInt
})
export type DepositState = typeof DepositState.Type

export interface Deposit {
  readonly tokenKind: TokenKind
  readonly contract: string
  readonly address: string
  readonly expectedRaw: TokenRaw
  readonly baselineRaw: bigint
  readonly fromBlock: number
}

/**
 * Reads the deposit from the stored payment. Returns none if the payment is from another provider or cannot be read.
 */
export const ofOpened = ({ instructions, state }: OpenedPayment): Option.Option<Deposit> => {
  if (instructions._tag !== "Bep20") return Option.none()
  return Option.map(Schema.decodeUnknownOption(DepositState)(state), ({ baselineRaw, fromBlock }) => ({
    tokenKind: instructions.tokenKind,
    contract: instructions.contractAddress,
    address: instructions.depositAddress,
    expectedRaw: instructions.expectedRaw,
    baselineRaw,
    fromBlock
  }))
}
