/**
 * Defines the schemas of Tripay's API for payments of a fixed amount, and of its webhooks. Bodies are parsed with
 * {@link ExactJson}, which converts every number to a string.
 *
 *     POST /transaction/create
 *     GET  /transaction/detail?reference=
 *     GET  /merchant/payment-channel?code=     fees and status of a channel
 */
import * as Schema from "effect/Schema"
import { PaymentReference } from "../wire/PaymentReference.ts"

/** The common members of the responses. `success` reports the result. The HTTP status is not reliable. */
export const Envelope = Schema.Struct({
  success: Schema.Boolean,
  message: Schema.optional(Schema.NullOr(Schema.String)),
  data: Schema.optional(Schema.Unknown)
})

/** A Unix time in seconds. Tripay writes it as a JSON number or as a JSON string. */
const UnixSeconds = Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 99_999_999_999))

/** A payment, as Tripay describes it when the payment is created and in every later status response. */
export const Transaction = Schema.Struct({
  reference: PaymentReference,
  merchant_ref: Schema.NullOr(Schema.String),
  amount: Schema.String,
  status: Schema.String,
  paid_at: Schema.optional(Schema.NullOr(UnixSeconds))
})
export type Transaction = typeof Transaction.Type

export const Created = Schema.Struct({
  ...Transaction.fields,
  fee_customer: Schema.String,
  checkout_url: Schema.NonEmptyString,
  qr_string: Schema.optional(Schema.NullOr(Schema.String)),
  expired_time: UnixSeconds
})
export type Created = typeof Created.Type

export const Channels = Schema.Array(
  Schema.Struct({
    code: Schema.String,
    active: Schema.Boolean,
    fee_customer: Schema.Struct({ flat: Schema.String, percent: Schema.String })
  })
)

export const Notification = Schema.Struct({ merchant_ref: Schema.String, status: Schema.optional(Schema.Unknown) })

export const SIGNATURE_HEADER = "x-callback-signature"

/** The response to a webhook. Tripay repeats a webhook for which it does not receive this response. */
export const ACKNOWLEDGEMENT = { success: true }
