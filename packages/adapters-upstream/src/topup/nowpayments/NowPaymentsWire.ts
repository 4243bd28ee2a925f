/**
 * Defines the schemas of the NOWPayments API. The bodies of responses are parsed with {@link ExactJson}, which converts
 * every number to a string. Some responses contain a payment id as a number, which also becomes a string.
 *
 *     POST /v1/payment
 *     GET  /v1/payment/{payment_id}
 *     GET  /v1/merchant/coins          coins that the account accepts
 */

import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import * as Schema from "effect/Schema"
import { PaymentReference } from "../wire/PaymentReference.ts"

const OptionalText = Schema.optional(Schema.NullOr(Schema.String))

/** A payment, as NOWPayments describes it when the payment is created and in every later status response. */
export const Payment = Schema.Struct({
  payment_id: PaymentReference,
  payment_status: Schema.String,
  price_currency: Schema.String,
  pay_amount: Schema.String,
  pay_currency: Schema.String,
  pay_address: OptionalText,
  order_id: Schema.NullOr(Schema.String),
  actually_paid: OptionalText,
  /**
   * The id of the original payment; set for a repeated payment or a deposit of another coin. Notifications have this
   * member. Status responses can lack it.
   */
  parent_payment_id: OptionalText,
  /** The ids of the repeated payments to the address of this payment. */
  payment_extra_ids: Schema.optional(Schema.Unknown),
  /** The hash of the blockchain transaction that paid; absent until there is such a transaction. */
  payin_hash: OptionalText,
  updated_at: OptionalText
})
export type Payment = typeof Payment.Type

export const Created = Schema.Struct({
  ...Payment.fields,
  pay_address: Schema.NonEmptyString,
  payin_extra_id: OptionalText,
  network: OptionalText
})
export type Created = typeof Created.Type

export const Refusal = Schema.Struct({ code: OptionalText, statusCode: OptionalText, message: OptionalText })

export const Coins = Schema.Struct({ selectedCurrencies: Schema.Array(Schema.String) })

/** The id of a payment. Only digits are accepted, because the id becomes part of a URL path. */
const Reference = Schema.Union(
  Schema.String.pipe(Schema.pattern(/^\d{1,20}$/)),
  Schema.Number.pipe(Schema.int(), Schema.positive())
)
const OptionalReference = Schema.optional(Schema.NullOr(Reference))

/**
 * The content of a webhook. It is parsed without {@link ExactJson}, because the signature covers numbers as JavaScript
 * writes them. A repeated payment can lack the order number.
 */
export const Notification = Schema.Struct({
  payment_id: OptionalReference,
  parent_payment_id: OptionalReference,
  order_id: OptionalText,
  payment_status: Schema.optional(Schema.Unknown)
})

export const SIGNATURE_HEADER = "x-nowpayments-sig"

export interface NowPaymentsCoin {
  readonly code: string
  readonly tokenKind: TokenKind
  /** The network that is used if the provider's response contains none. */
  readonly network: string
}

/** The maximum number of coins per order. More addresses would confuse a payer. */
export const MAX_COINS = 8

/**
 * Returns at most {@link MAX_COINS} of the given coins that are USDT or USDC, without duplicates and in the given
 * order. Other tokens are not supported, because their value can differ from a dollar.
 */
export const coinsOf = (codes: ReadonlyArray<string>): ReadonlyArray<NowPaymentsCoin> => {
  const unique = new Set(codes.map((code) => code.trim().toLowerCase()))
  return [...unique].flatMap((code) => coinOf(code) ?? []).slice(0, MAX_COINS)
}

const coinOf = (code: string): NowPaymentsCoin | undefined => {
  const match = /^(usdt|usdc)([a-z0-9]*)$/.exec(code)
  if (match === null) return undefined
  return { code, tokenKind: match[1] === "usdt" ? "usdt" : "usdc", network: match[2] || "eth" }
}
