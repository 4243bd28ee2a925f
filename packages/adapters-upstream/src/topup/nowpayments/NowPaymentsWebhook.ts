/**
 * Verifies webhooks from NOWPayments. A header contains the signature. The signature covers the JSON text of the body
 * after the members of every object were sorted by name. An older form of the signature also sorts the members, but
 * omits members whose names occur only in nested objects.
 *
 * The signed text contains numbers as JavaScript writes them. This file therefore parses numbers as JavaScript numbers;
 * the other files of the adapter do not.
 */
import { createHmac } from "node:crypto"
import {
  BadSignature,
  type PaymentNotification,
  type PaymentWebhook
} from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { isDigest } from "../wire/WebhookDigest.ts"
import { ARRIVED } from "./NowPaymentsObservation.ts"
import { Notification, SIGNATURE_HEADER } from "./NowPaymentsWire.ts"

/** Returns the text that the signature of a body covers. */
export const canonical = (body: unknown): string => JSON.stringify(inOrder(body))

/**
 * Returns the text that the older form of the signature covers: `JSON.stringify(body, Object.keys(body).sort())`. This
 * call itself would look up every name in every object. For some bodies of 64 KiB, whose signature is not verified yet,
 * it would take seconds.
 */
export const olderCanonical = (body: object): string => textWith(new Set(Object.keys(body)), body)

const textWith = (names: ReadonlySet<string>, value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => textWith(names, item)).join(",")}]`
  const members = Object.entries(value)
    .filter(([name]) => names.has(name))
    .sort(byName)
    .map(([name, member]) => `${JSON.stringify(name)}:${textWith(names, member)}`)
  return `{${members.join(",")}}`
}

export const signatureOf = (text: string, ipnSecret: string): Buffer =>
  createHmac("sha512", ipnSecret).update(text, "utf8").digest()

export const make = (provider: string, ipnSecret: Redacted.Redacted<string>): PaymentWebhook => ({
  verify: (headers, bytes) =>
    Either.try(() => {
      const body: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"))
      // Invalid JSON throws an exception, and so does JSON that is nested too deeply for one of the two forms.
      const older = typeof body === "object" && body !== null ? [olderCanonical(body)] : []
      return { body, texts: [canonical(body), ...older] }
    }).pipe(
      Either.filterOrLeft(
        ({ texts }) =>
          texts.some((text) => isDigest(signatureOf(text, Redacted.value(ipnSecret)), headers[SIGNATURE_HEADER])),
        () => "wrong signature" as const
      ),
      Either.map(({ body }) => notificationIn(body)),
      Effect.mapError(() => new BadSignature({ provider }))
    ),
  acknowledgement: {}
})

/**
 * Returns the order number and the repeated payment that a notification reports, and whether money has arrived.
 * Notifications of payouts and other events contain nothing of this.
 */
const notificationIn = (body: unknown): PaymentNotification =>
  Either.match(Schema.decodeUnknownEither(Notification)(body), {
    onLeft: () => ({}),
    onRight: ({ order_id, parent_payment_id, payment_id, payment_status }) => ({
      orderNumber: order_id ?? undefined,
      paid: ARRIVED.has(payment_status) ? true : undefined,
      ...(parent_payment_id && payment_id
        ? { repeated: { paymentId: `${payment_id}`, originalId: `${parent_payment_id}` } }
        : {})
    })
  })

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).sort(byName)
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]))
}
