/**
 * Decodes Tripay's responses. A response contains a new payment, the state of a payment, a list of payment channels, or
 * a failure.
 */
import type { AmountRejected, OpenedPayment, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type AccountSettings, isPayable, isSandbox } from "../wire/PaymentAccount.ts"
import type { PaymentFailures } from "../wire/PaymentFailures.ts"
import * as Qris from "../wire/Qris.ts"
import { idrOf } from "../wire/WireAmounts.ts"
import { mismatchOf, type RequestedPayment } from "./TripayObservation.ts"
import { Created, Envelope } from "./TripayWire.ts"

export const FEE_ON_CUSTOMER =
  "the payer pays the fee of the Tripay channel; set the channel so that the merchant pays the fee"

export const readEnvelope = (
  failures: PaymentFailures,
  body: unknown
): Either.Either<unknown, AmountRejected | ProviderUnavailable> => {
  const decoded = Schema.decodeUnknownEither(Envelope)(body)
  if (Either.isLeft(decoded))
    return Either.left(failures.unavailable("bad_response", "the response has no member `success`", true))
  const { success, message, data } = decoded.right
  return success ? Either.right(data) : Either.left(refusalOf(failures, message ?? ""))
}

/** Maps a refusal to a failure by its message. Tripay has no error codes, only messages in English or Indonesian. */
const refusalOf = (
  { unavailable, amountRejected }: PaymentFailures,
  message: string
): AmountRejected | ProviderUnavailable => {
  const isBound = /amount|nominal|jumlah/i.test(message) && /min|max|maks|limit|batas/i.test(message)
  if (isBound) return amountRejected(message)
  if (/api key|signature|unauthori[sz]ed|whitelist/i.test(message)) return unavailable("unauthorized", message)
  return unavailable("rejected", `refused: ${message}`)
}

/** Reads the response to a request without an amount. Such a request cannot fail with AmountRejected. */
export const readAsked = <A, I>(
  failures: PaymentFailures,
  body: unknown,
  schema: Schema.Schema<A, I>
): Either.Either<A, ProviderUnavailable> =>
  readEnvelope(failures, body).pipe(
    Either.mapLeft(failures.withoutAmount),
    Either.flatMap((data) =>
      Either.mapLeft(Schema.decodeUnknownEither(schema)(data), () =>
        failures.unavailable("bad_response", "the response does not match the API documentation")
      )
    )
  )

export const readCreated = (
  { unavailable }: PaymentFailures,
  settings: AccountSettings,
  data: unknown,
  requested: Omit<RequestedPayment, "reference">
): Either.Either<OpenedPayment, ProviderUnavailable> => {
  const unusable = (detail: string) =>
    Either.left(unavailable("bad_response", `the payment was created, but ${detail}`, true))
  const decoded = Schema.decodeUnknownEither(Created)(data)
  if (Either.isLeft(decoded)) return unusable("the response does not match the API documentation")
  const created = decoded.right
  const { reference, checkout_url: paymentUrl, qr_string: qrContent, expired_time } = created
  // Check the fee first, because a fee that the payer pays also changes the amount.
  if (idrOf(created.fee_customer) !== 0n) return unusable(FEE_ON_CUSTOMER)
  const mismatch = mismatchOf(created, { ...requested, reference })
  if (mismatch !== undefined) return unusable(mismatch)
  if (created.status !== "UNPAID") return unusable(`its status is ${created.status}`)
  if (!isPayable(paymentUrl, settings)) return unusable("the URL of its payment page is not allowed")
  if (qrContent === undefined || qrContent === null || qrContent === "")
    return unusable("the response has no qr_string")
  // Tripay's test system returns the text SANDBOX MODE instead of the text of a QRIS code.
  const fault = isSandbox(settings.baseUrl) ? undefined : Qris.faultOf(qrContent, requested.total)
  if (fault !== undefined) return unusable(`its QRIS code cannot be used: ${fault}`)
  return Either.right({
    providerPaymentId: reference,
    instructions: { _tag: "HostedQris", qrContent, paymentUrl },
    expiresAt: new Date(expired_time * 1_000),
    state: {}
  })
}
