/**
 * Defines the schemas of the Midtrans Core API and of its webhooks. Bodies are parsed with {@link ExactJson}, which
 * converts every number to a string.
 *
 *     POST /v2/charge                 `status_code` 201, or an error, often with HTTP status 200
 *     GET  /v2/{order_id}/status      `status_code` 404 for an unknown order, 407 for an expired order
 *     POST /v2/{order_id}/cancel
 */
import * as Schema from "effect/Schema"
import { PaymentReference } from "../wire/PaymentReference.ts"

/** The common members of the responses. The status code in the body is more precise than the HTTP status. */
export const Reply = Schema.Struct({
  status_code: Schema.String,
  status_message: Schema.optional(Schema.NullOr(Schema.String)),
  validation_messages: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
})
export type Reply = typeof Reply.Type

/** A payment, as Midtrans describes it in the response to a charge, in a status response and in a webhook. */
export const Transaction = Schema.Struct({
  transaction_id: PaymentReference,
  order_id: Schema.String,
  gross_amount: Schema.String,
  currency: Schema.optional(Schema.NullOr(Schema.String)),
  transaction_status: Schema.String,
  fraud_status: Schema.optional(Schema.NullOr(Schema.String)),
  settlement_time: Schema.optional(Schema.NullOr(Schema.String)),
  /** The refunded amount. Its type is not checked, because it is only shown to operators. */
  refund_amount: Schema.optional(Schema.Unknown)
})
export type Transaction = typeof Transaction.Type

/**
 * The names of the actions whose URL is an image of the QRIS code. The second image has the frame that the Indonesian
 * regulator requires.
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
  signature_key: Schema.String,
  transaction_status: Schema.optional(Schema.Unknown)
})

/** Parses a timestamp. Midtrans sends Jakarta time without an offset. */
export const timeOf = (text: string | null | undefined): Date | undefined => {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text ?? "")
  if (parts === null) return undefined
  const time = new Date(`${parts[1]}T${parts[2]}+07:00`)
  return Number.isNaN(time.getTime()) ? undefined : time
}
