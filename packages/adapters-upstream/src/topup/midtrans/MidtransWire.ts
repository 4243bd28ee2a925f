/**
 * Schemas of the Midtrans Core API and its notifications. Bodies are read as {@link ExactJson}: every number is a
 * string.
 *
 *     POST /v2/charge                 201, or an error that may come with HTTP 200
 *     GET  /v2/{order_id}/status      404 in the body for an order it does not know, 407 for one that has expired
 *     POST /v2/{order_id}/cancel
 */
import * as Schema from "effect/Schema"

/** The members of every response. The status code in the body is more precise than the HTTP status. */
export const Reply = Schema.Struct({
  status_code: Schema.String,
  status_message: Schema.optional(Schema.NullOr(Schema.String)),
  validation_messages: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
})
export type Reply = typeof Reply.Type

/** A payment, as in the response to a charge, in a status response and in notifications. */
export const Transaction = Schema.Struct({
  transaction_id: Schema.NonEmptyString,
  order_id: Schema.String,
  gross_amount: Schema.String,
  currency: Schema.optional(Schema.NullOr(Schema.String)),
  transaction_status: Schema.String,
  fraud_status: Schema.optional(Schema.NullOr(Schema.String)),
  settlement_time: Schema.optional(Schema.NullOr(Schema.String))
})
export type Transaction = typeof Transaction.Type

/**
 * Names of actions with the URL of a picture of the code. The second picture has the frame that the regulator requires.
 */
export const PICTURE_ACTION = "generate-qr-code"
export const FRAMED_PICTURE_ACTION = "generate-qr-code-v2"

export const Charge = Schema.Struct({
  ...Transaction.fields,
  qr_string: Schema.optional(Schema.NullOr(Schema.String)),
  expiry_time: Schema.optional(Schema.NullOr(Schema.String)),
  actions: Schema.optional(Schema.NullOr(Schema.Array(Schema.Struct({ name: Schema.String, url: Schema.String }))))
})
export type Charge = typeof Charge.Type

export const Notification = Schema.Struct({
  order_id: Schema.String,
  status_code: Schema.String,
  gross_amount: Schema.String,
  signature_key: Schema.String
})

/** Parses a timestamp. Midtrans sends Jakarta time without an offset. */
export const timeOf = (text: string | null | undefined): Date | undefined => {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text ?? "")
  if (parts === null) return undefined
  const time = new Date(`${parts[1]}T${parts[2]}+07:00`)
  return Number.isNaN(time.getTime()) ? undefined : time
}
