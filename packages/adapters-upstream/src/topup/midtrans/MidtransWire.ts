/**
 * Schemas of the Midtrans Core API and its notifications. Read as {@link ExactJson}: every number is a text.
 *
 *     POST /v2/charge                 201, or an error that may come with HTTP 200
 *     GET  /v2/{order_id}/status      404 in the body for an order it does not know, 407 for one that has expired
 *     POST /v2/{order_id}/cancel
 */
import * as Schema from "effect/Schema"

/** Part of every response. The HTTP status is less precise. */
export const Reply = Schema.Struct({
  status_code: Schema.String,
  status_message: Schema.optional(Schema.NullOr(Schema.String)),
  validation_messages: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
})
export type Reply = typeof Reply.Type

/** A payment: in the response to its charge, in its status and in its notifications. */
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

/** Actions with the address of a picture of the code. The second one has the frame that the regulator requires. */
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

/** Midtrans sends Jakarta time without an offset. */
export const timeOf = (text: string | null | undefined): Date | undefined => {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text ?? "")
  if (parts === null) return undefined
  const time = new Date(`${parts[1]}T${parts[2]}+07:00`)
  return Number.isNaN(time.getTime()) ? undefined : time
}
