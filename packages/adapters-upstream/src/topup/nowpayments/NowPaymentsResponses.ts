/**
 * Decodes NOWPayments' responses. A response contains a new payment in one coin, the state of a payment, the list of
 * available coins, or a failure.
 */
import type { AmountRejected, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import type { DepositAddress } from "@tollgate/domain/topup/PaymentMethod"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { PaymentFailures } from "../wire/PaymentFailures.ts"
import { usdDigits } from "../wire/WireAmounts.ts"
import { mismatchOf, type RequestedPayment } from "./NowPaymentsObservation.ts"
import { type Created, type NowPaymentsCoin, Refusal } from "./NowPaymentsWire.ts"

export type Failure = AmountRejected | ProviderUnavailable

/**
 * Decodes a response with a schema. If the body does not match the schema, returns the failure that the body reports,
 * or `bad_response` if the body reports none. The HTTP status is not used.
 */
export const readAs = <A, I>(
  failures: PaymentFailures,
  body: unknown,
  schema: Schema.Schema<A, I>
): Either.Either<A, Failure> =>
  Either.mapLeft(Schema.decodeUnknownEither(schema)(body), () => {
    const { code, statusCode, message } = Either.getOrElse(Schema.decodeUnknownEither(Refusal)(body), () => NOTHING)
    if (!code && !statusCode)
      return failures.unavailable("bad_response", "the response does not match the API documentation", true)
    return refusalOf(failures, code ?? "", statusCode ?? "", message ?? "")
  })

const NOTHING: typeof Refusal.Type = {}

const refusalOf = (
  { unavailable, amountRejected }: PaymentFailures,
  code: string,
  status: string,
  message: string
): Failure => {
  const reported = `${status} ${code} ${message}`
  if (/AMOUNT_(MIN|MAX)|(less|smaller|greater|larger) than (min|max)|too (small|large)/i.test(reported)) {
    return amountRejected(reported)
  }
  const isKeyWrong = /API_KEY/.test(code) || status === "401" || status === "403"
  if (isKeyWrong) return unavailable("unauthorized", `refused: ${code}`)
  if (status === "429") return unavailable("rate_limited", reported)
  if (/^5/.test(status)) return unavailable("server_error", reported, true)
  return unavailable("rejected", reported)
}

export interface OpenedInCoin {
  readonly paymentId: string
  readonly currency: string
  readonly address: DepositAddress
}

export const readCreated = (
  { unavailable }: PaymentFailures,
  { tokenKind, network }: NowPaymentsCoin,
  created: Created,
  requested: RequestedPayment
): Either.Either<OpenedInCoin, ProviderUnavailable> => {
  const mismatch = mismatchOf(created, requested)
  if (mismatch !== undefined) {
    return Either.left(
      unavailable("bad_response", `the payment in ${requested.currency} was created, but ${mismatch}`, true)
    )
  }
  return Either.right({
    paymentId: created.payment_id,
    currency: requested.currency,
    address: {
      network: created.network || network,
      tokenKind,
      depositAddress: created.pay_address,
      amount: usdDigits(requested.amount),
      memo: created.payin_extra_id || undefined
    }
  })
}
