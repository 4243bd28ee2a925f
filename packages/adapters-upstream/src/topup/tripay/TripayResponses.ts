/**
 * Reads responses of Tripay: an opened payment, the requested data, or the failure that the response reports.
 */
import type { AmountRejected, OpenedPayment, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type AccountSettings, isPayable, isSandbox } from "../wire/PaymentAccount.ts"
import type { PaymentFailure } from "../wire/PaymentFailure.ts"
import * as Qris from "../wire/Qris.ts"
import { idrOf } from "../wire/WireAmounts.ts"
import { type Asked, mismatchOf } from "./TripayObservation.ts"
import { Created, Envelope } from "./TripayWire.ts"

export const FEE_ON_CUSTOMER = "the channel's fee is set to be paid by the customer, it must be set to the merchant"

export const readEnvelope = (
  failures: PaymentFailure,
  body: unknown
): Either.Either<unknown, AmountRejected | ProviderUnavailable> => {
  const decoded = Schema.decodeUnknownEither(Envelope)(body)
  if (Either.isLeft(decoded)) return Either.left(failures.unavailable("bad_response", "response without success", true))
  const { success, message, data } = decoded.right
  return success ? Either.right(data) : Either.left(refusalOf(failures, message ?? ""))
}

/** Maps a failure by its message: Tripay has no error codes, only messages in English or Indonesian. */
const refusalOf = (
  { unavailable, amountRejected }: PaymentFailure,
  message: string
): AmountRejected | ProviderUnavailable => {
  const isBound = /amount|nominal|jumlah/i.test(message) && /min|max|maks|limit|batas/i.test(message)
  if (isBound) return amountRejected(message)
  if (/api key|signature|unauthori[sz]ed|whitelist/i.test(message)) return unavailable("unauthorized", message)
  return unavailable("rejected", `refused: ${message}`)
}

/** Reads the response to a request that sends no amount, so that AmountRejected is not possible. */
export const readAsked = <A, I>(
  failures: PaymentFailure,
  body: unknown,
  schema: Schema.Schema<A, I>
): Either.Either<A, ProviderUnavailable> =>
  readEnvelope(failures, body).pipe(
    Either.mapLeft(failures.withoutAmount),
    Either.flatMap((data) =>
      Either.mapLeft(Schema.decodeUnknownEither(schema)(data), () =>
        failures.unavailable("bad_response", "response not as documented")
      )
    )
  )

export const readCreated = (
  { unavailable }: PaymentFailure,
  settings: AccountSettings,
  data: unknown,
  asked: Omit<Asked, "reference">
): Either.Either<OpenedPayment, ProviderUnavailable> => {
  const unusable = (detail: string) => Either.left(unavailable("bad_response", `created, but ${detail}`, true))
  const decoded = Schema.decodeUnknownEither(Created)(data)
  if (Either.isLeft(decoded)) return unusable("not as documented")
  const created = decoded.right
  const { reference, checkout_url: paymentUrl, qr_string: qrContent, expired_time } = created
  // Check the fee first, because a fee borne by the customer also changes the amount.
  if (idrOf(created.fee_customer) !== 0n) return unusable(FEE_ON_CUSTOMER)
  const mismatch = mismatchOf(created, { ...asked, reference })
  if (mismatch !== undefined) return unusable(mismatch)
  if (created.status !== "UNPAID") return unusable(`its status is ${created.status}`)
  if (!isPayable(paymentUrl, settings)) return unusable("the URL of its page is not allowed")
  if (qrContent === undefined || qrContent === null || qrContent === "") return unusable("without a qr_string")
  // The test system returns SANDBOX MODE instead of a code.
  const fault = isSandbox(settings.baseUrl) ? undefined : Qris.faultOf(qrContent, asked.total)
  if (fault !== undefined) return unusable(`its QRIS cannot be used: ${fault}`)
  return Either.right({
    providerPaymentId: reference,
    instructions: { _tag: "HostedQris", qrContent, paymentUrl },
    expiresAt: new Date(expired_time * 1_000),
    state: {}
  })
}
