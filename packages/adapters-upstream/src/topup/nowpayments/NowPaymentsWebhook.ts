/**
 * Verifies notifications from NOWPayments. The signature in a header covers the body, serialized again with sorted
 * members. An older form of the signature sorts the same names but omits members that only nested objects have.
 *
 * The signed text contains numbers as JavaScript writes them. Therefore only this file reads numbers as JavaScript
 * numbers.
 */
import { createHmac } from "node:crypto"
import { BadSignature, type PaymentWebhook, type Reported } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { isDigest } from "../wire/WebhookDigest.ts"
import { Notification, SIGNATURE_HEADER } from "./NowPaymentsWire.ts"

/** Returns the signed text of a body. */
export const canonical = (body: unknown): string => JSON.stringify(inOrder(body))

/** Returns the signed text in the older form. */
export const canonicalOnce = (body: object): string => JSON.stringify(body, Object.keys(body).sort())

export const signatureOf = (text: string, ipnSecret: string): Buffer =>
  createHmac("sha512", ipnSecret).update(text, "utf8").digest()

export const make = (provider: string, ipnSecret: Redacted.Redacted<string>): PaymentWebhook => ({
  verify: (headers, bytes) =>
    Either.try(() => {
      const body: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"))
      // Invalid JSON throws, and so does nesting that is too deep.
      return { body, text: canonical(body) }
    }).pipe(
      Either.filterOrLeft(
        ({ body, text }) => {
          const isSigned = (text: string) =>
            isDigest(signatureOf(text, Redacted.value(ipnSecret)), headers[SIGNATURE_HEADER])
          return isSigned(text) || (typeof body === "object" && body !== null && isSigned(canonicalOnce(body)))
        },
        () => "wrong signature" as const
      ),
      Either.map(({ body }) => reportedIn(body)),
      Effect.mapError(() => new BadSignature({ provider }))
    ),
  acknowledgement: {}
})

/** Returns the order that a notification reports. Notifications of payouts and other events name none. */
const reportedIn = (body: unknown): Reported =>
  Either.match(Schema.decodeUnknownEither(Notification)(body), {
    onLeft: () => ({}),
    onRight: ({ order_id, parent_payment_id, payment_id }) => ({
      orderNumber: order_id ?? undefined,
      ...(parent_payment_id && payment_id
        ? { repeated: { paymentId: `${payment_id}`, originalId: `${parent_payment_id}` } }
        : {})
    })
  })

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]))
}
