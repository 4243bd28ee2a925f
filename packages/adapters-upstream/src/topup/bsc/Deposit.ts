/**
 * One order's deposit as it was opened: where money is awaited, how much, and what was there before. Stored with the
 * order, so that it is found again whatever the settings are then.
 */
import type { OpenedPayment } from "@tollgate/application/topup/PaymentProviders"
import type { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** What {@link OpenedPayment.state} holds, as JSON. */
export const DepositState = Schema.Struct({
  /** For the operator: which of the wallet's accounts it is. */
  depositIndex: Schema.NonNegativeInt,
  /** What the address held when it was given out: normally nothing. Not of this order. */
  baselineRaw: Schema.NonNegativeBigInt,
  /** No transfer before this block is of this order. */
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

/** Absent for a payment that another provider opened. */
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
