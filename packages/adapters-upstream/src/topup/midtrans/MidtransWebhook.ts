/**
 * Verifies webhooks from Midtrans. The signature is a member of the body. The signature covers the order number, the
 * status code, the amount (exactly as written) and the server key of the Midtrans account.
 */
import { createHash } from "node:crypto"
import {
  BadSignature,
  type PaymentNotification,
  type PaymentWebhook
} from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ExactJson from "../wire/ExactJson.ts"
import { isDigest } from "../wire/WebhookDigest.ts"
import { Notification } from "./MidtransWire.ts"

/** The members of the notification that the signature covers, exactly as written. */
export interface Signed {
  readonly order_id: string
  readonly status_code: string
  readonly gross_amount: string
}

export const signatureOf = ({ order_id, status_code, gross_amount }: Signed, serverKey: string): Buffer =>
  createHash("sha512").update(`${order_id}${status_code}${gross_amount}${serverKey}`, "utf8").digest()

export const make = (provider: string, serverKey: Redacted.Redacted<string>): PaymentWebhook => ({
  verify: (_headers, body) =>
    ExactJson.parse(Buffer.from(body).toString("utf8")).pipe(
      Either.flatMap(Schema.decodeUnknownEither(Notification)),
      Either.filterOrLeft(
        (notification) => isDigest(signatureOf(notification, Redacted.value(serverKey)), notification.signature_key),
        () => "wrong signature" as const
      ),
      Either.map(({ order_id, transaction_status: status }): PaymentNotification => {
        return { orderNumber: order_id, paid: status === "settlement" || status === "capture" ? true : undefined }
      }),
      Effect.mapError(() => new BadSignature({ provider }))
    ),
  acknowledgement: {}
})
