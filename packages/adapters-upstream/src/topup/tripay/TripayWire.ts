/**
 * Schemas of the Tripay API for closed payments, and of callbacks. Bodies are read as {@link ExactJson}: every number
 * is a string.
 *
 *     POST /transaction/create
 *     GET  /transaction/detail?reference=
 *     GET  /merchant/payment-channel?code=     fees and status of a channel
 */
import * as Schema from "effect/Schema"

/** The envelope of every response. `success` reports the result; the HTTP status is not reliable. */
export const Envelope = Schema.Struct({
  success: Schema.Boolean,
  message: Schema.optional(Schema.NullOr(Schema.String)),
  data: Schema.optional(Schema.Unknown)
})

/** Unix time in seconds, as a number or in quotes. */
const UnixSeconds = Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 99_999_999_999))

/** A payment, as in the response to its creation and to every refresh. */
export const Transaction = Schema.Struct({
  reference: Schema.NonEmptyString,
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

export const Callback = Schema.Struct({ merchant_ref: Schema.String })

export const SIGNATURE_HEADER = "x-callback-signature"

/** The response to a callback. Tripay repeats the callback until it receives this response. */
export const ACKNOWLEDGEMENT = { success: true }
