/**
 * Computes and verifies signatures with the private key of the Tripay account. The gateway signs each request for a new
 * payment, and Tripay signs each webhook. The signature of a webhook is in a header and covers the bytes of the body.
 */

import { createHmac } from "node:crypto"
import {
  BadSignature,
  type PaymentNotification,
  type PaymentWebhook
} from "@tollgate/application/topup/PaymentProviders"
import type { Idr } from "@tollgate/domain/money/Idr"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ExactJson from "../wire/ExactJson.ts"
import { isDigest } from "../wire/WebhookDigest.ts"
import { ACKNOWLEDGEMENT, Notification, SIGNATURE_HEADER } from "./TripayWire.ts"

export const make = (provider: string, privateKey: Redacted.Redacted<string>): PaymentWebhook => ({
  verify: (headers, body) =>
    isDigest(webhookSignature(body, privateKey), headers[SIGNATURE_HEADER])
      ? Effect.succeed(notificationIn(body))
      : Effect.fail(new BadSignature({ provider })),
  acknowledgement: ACKNOWLEDGEMENT
})

/**
 * Returns the notification in the body of a webhook. It is empty if the body contains no order number. For example, a
 * webhook of Tripay's product "open payment" contains none.
 */
const notificationIn = (body: Uint8Array): PaymentNotification =>
  ExactJson.parse(Buffer.from(body).toString("utf8")).pipe(
    Either.flatMap(Schema.decodeUnknownEither(Notification)),
    Either.map(({ merchant_ref, status }): PaymentNotification => {
      return { orderNumber: merchant_ref, paid: status === "PAID" ? true : undefined }
    }),
    Either.getOrElse(() => ({}))
  )

export const paymentSignature = (
  merchantCode: string,
  merchantRef: string,
  amount: Idr,
  privateKey: Redacted.Redacted<string>
): string => hmac(privateKey, `${merchantCode}${merchantRef}${amount}`).toString("hex")

/** Computes the signature of the raw body of a webhook. */
export const webhookSignature = (body: Uint8Array, privateKey: Redacted.Redacted<string>): Buffer =>
  hmac(privateKey, body)

const hmac = (privateKey: Redacted.Redacted<string>, signed: string | Uint8Array): Buffer =>
  createHmac("sha256", Redacted.value(privateKey)).update(signed).digest()
