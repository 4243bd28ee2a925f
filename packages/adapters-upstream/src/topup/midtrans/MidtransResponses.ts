/**
 * Decodes Midtrans' responses. A response contains a new payment, the status of a payment, or only a status code that
 * reports success or failure.
 */
import type { AmountRejected, OpenedPayment, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import type { Idr } from "@tollgate/domain/money/Idr"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type AccountSettings, isPayable, isSandbox } from "../wire/PaymentAccount.ts"
import type { PaymentFailures } from "../wire/PaymentFailures.ts"
import * as Qris from "../wire/Qris.ts"
import { mismatchOf } from "./MidtransObservation.ts"
import { Charge, FRAMED_PICTURE_ACTION, PICTURE_ACTION, Reply, Transaction, timeOf } from "./MidtransWire.ts"

/** Returns the response if the status code in its body is expected; otherwise a failure. */
export const readReply = (
  failures: PaymentFailures,
  body: unknown,
  expected: RegExp
): Either.Either<Reply, AmountRejected | ProviderUnavailable> =>
  Either.filterOrLeft(
    decodeReply(failures, body),
    ({ status_code }) => expected.test(status_code),
    (reply) => refusalOf(failures, reply)
  )

const decodeReply = ({ unavailable }: PaymentFailures, body: unknown): Either.Either<Reply, ProviderUnavailable> =>
  Either.mapLeft(Schema.decodeUnknownEither(Reply)(body), () =>
    unavailable("bad_response", "the response has no status_code", true)
  )

const refusalOf = (
  { unavailable, amountRejected }: PaymentFailures,
  { status_code: code, status_message, validation_messages }: Reply
): AmountRejected | ProviderUnavailable => {
  const reported = `${code} ${[status_message ?? "", ...(validation_messages ?? [])].join("; ")}`
  if (code === "400" && /amount/i.test(reported)) return amountRejected(reported)
  if (code === "401" || code === "403") return unavailable("unauthorized", `status ${code}`)
  // The order number is already in use. Probably an earlier attempt created the payment, but Midtrans' response was
  // lost.
  if (code === "406") return unavailable("rejected", reported, true)
  if (code === "429") return unavailable("rate_limited", reported)
  if (/^5/.test(code)) return unavailable("server_error", reported, true)
  if (/^4/.test(code)) return unavailable("rejected", reported)
  return unavailable("bad_response", reported, true)
}

export interface RequestedPayment {
  readonly orderNumber: string
  readonly total: Idr
  /** The expiry time that is used if the response contains none that can be read. */
  readonly expiresAt: Date
}

export const readCharge = (
  { unavailable }: PaymentFailures,
  settings: AccountSettings,
  body: unknown,
  { orderNumber, total, expiresAt }: RequestedPayment
): Either.Either<OpenedPayment, ProviderUnavailable> => {
  const unusable = (detail: string) =>
    Either.left(unavailable("bad_response", `the payment was created, but ${detail}`, true))
  const decoded = Schema.decodeUnknownEither(Charge)(body)
  if (Either.isLeft(decoded)) return unusable("the response does not match the API documentation")
  const charge = decoded.right
  const mismatch = mismatchOf(charge, orderNumber, total)
  if (mismatch !== undefined) return unusable(mismatch)
  if (charge.transaction_status !== "pending") return unusable(`its status is ${charge.transaction_status}`)
  const { qr_string: qrContent, transaction_id: transactionId } = charge
  if (qrContent === undefined || qrContent === null || qrContent === "")
    return unusable("the response has no qr_string")
  const fault = Qris.faultOf(qrContent, total)
  // The QRIS codes of Midtrans' sandbox are not valid, so their faults are ignored.
  if (fault !== undefined && !isSandbox(settings.baseUrl)) return unusable(`its QRIS code cannot be used: ${fault}`)
  return Either.right({
    providerPaymentId: transactionId,
    instructions: { _tag: "Qris", qrContent, qrImageUrl: pictureOf(charge, settings) },
    expiresAt: timeOf(charge.expiry_time) ?? expiresAt,
    state: {}
  })
}

const pictureOf = ({ actions }: Charge, settings: AccountSettings): string | undefined => {
  const urlOf = (wanted: string) => actions?.find(({ name }) => name === wanted)?.url
  const url = urlOf(FRAMED_PICTURE_ACTION) ?? urlOf(PICTURE_ACTION)
  return url !== undefined && isPayable(url, settings) ? url : undefined
}

/**
 * Decodes a transaction. Returns a failure for a response without a transaction, even if the response's status reports
 * success.
 */
export const readTransaction = (
  failures: PaymentFailures,
  body: unknown
): Either.Either<Transaction, ProviderUnavailable> =>
  Either.orElse(Schema.decodeUnknownEither(Transaction)(body), () =>
    Either.flatMap(decodeReply(failures, body), (reply) =>
      Either.left(failures.withoutAmount(refusalOf(failures, reply)))
    )
  )
