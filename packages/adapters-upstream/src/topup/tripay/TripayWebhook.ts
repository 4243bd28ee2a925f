/**
 * Callbacks of Tripay: signed in a header over the bytes of the body.
 */
import { BadSignature, type PaymentWebhook } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ExactJson from "../wire/ExactJson.ts"
import { isDigest } from "../wire/PresentedDigest.ts"
import * as TripaySignature from "./TripaySignature.ts"
import { ACKNOWLEDGEMENT, Callback, SIGNATURE_HEADER } from "./TripayWire.ts"

export const make = (provider: string, privateKey: Redacted.Redacted<string>): PaymentWebhook => ({
  verify: (headers, body) =>
    isDigest(TripaySignature.ofCallback(body, privateKey), headers[SIGNATURE_HEADER])
      ? Effect.succeed({ orderNumber: orderNumberIn(body) })
      : Effect.fail(new BadSignature({ provider })),
  acknowledgement: ACKNOWLEDGEMENT
})

/** Open payments have none. */
const orderNumberIn = (body: Uint8Array): string | undefined =>
  ExactJson.parse(Buffer.from(body).toString("utf8")).pipe(
    Either.flatMap(Schema.decodeUnknownEither(Callback)),
    Either.map(({ merchant_ref }) => merchant_ref),
    Either.getOrUndefined
  )
