/**
 * What the failures of the reseller programme are on the wire, one row each (spec: Errors; gap A5). A failure of a use
 * case without a row does not compile.
 *
 *     {"error":{"code","message","request_id","details"?:[{"path","message"}]}}
 */

import type { customerBalances, keyBalances } from "@tollgate/application/customer/Balances"
import type { createCustomerKey, revokeCustomerKey } from "@tollgate/application/customer/CustomerKeys"
import type { resolveCustomer } from "@tollgate/application/customer/Customers"
import type { readUsage } from "@tollgate/application/customer/SettledUsage"
import type { Mints } from "@tollgate/application/mint/Mints"
import type { authenticate, logIn, signUp } from "@tollgate/application/reseller/ResellerAccess"
import type { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import type { createTopUp, listTopUps, refreshTopUp } from "@tollgate/application/topup/TopUps"
import { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import { IdempotencyConflict } from "@tollgate/domain/mint/Mint"
import { TierNotAvailable } from "@tollgate/domain/mint/Tier"
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import { TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import { NotFound, RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { type FieldIssue, ValidationFailed } from "@tollgate/domain/validation/Validation"
import type * as Effect from "effect/Effect"

type FailureOf<UseCase extends (...given: never) => Effect.Effect<unknown, unknown, unknown>> = Effect.Effect.Error<
  ReturnType<UseCase>
>

/** Everything a request to the reseller programme can fail with. */
export type ResellerFailure =
  | FailureOf<
      | typeof signUp
      | typeof logIn
      | typeof authenticate
      | typeof createTopUp
      | typeof refreshTopUp
      | typeof listTopUps
      | Mints["Type"]["mint"]
      | typeof resolveCustomer
      | typeof createCustomerKey
      | typeof revokeCustomerKey
      | typeof keyBalances
      | typeof customerBalances
      | typeof readUsage
      | typeof handleWebhook
    >
  | RequestTooLarge
  | Overloaded

interface Row<E> {
  readonly status: number
  readonly code: string
  /** What a client is told: what happened, and what to do. */
  readonly message: (error: E) => string
  readonly details?: (error: E) => ReadonlyArray<FieldIssue>
  readonly headers?: (error: E) => Record<string, string>
  /** When it happens, for the documentation. */
  readonly meaning: string
  readonly example: E
}

type Rows = { readonly [Tag in ResellerFailure["_tag"]]: Row<Extract<ResellerFailure, { readonly _tag: Tag }>> }

/** Zero would make clients ask again at once. */
const retryAfter = ({ retryAfterSeconds }: { readonly retryAfterSeconds: number }): Record<string, string> => ({
  "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds) || 1))
})

const rangeOf = ({ bounds }: AmountOutOfRange): string =>
  bounds === null ? "an amount the payment provider takes" : `${bounds.min} to ${bounds.max}`

const notFound: { readonly [What in NotFound["what"]]: string } = {
  customer: "You have no customer of this id. GET /api/reseller/customers lists them.",
  key: "None of your customers has a key of this id.",
  webhook: "No payment provider of this name reports here."
}

const rows: Rows = {
  ValidationFailed: {
    status: 422,
    code: "validation_error",
    message: ({ details: [first] }) =>
      first === undefined || first.path === ""
        ? `The request is malformed: ${first?.message ?? "it cannot be read"}.`
        : `${first.path}: ${first.message}.`,
    details: ({ details }) => details,
    meaning: "Members are missing, malformed or contradict each other; `details` has one entry for each.",
    example: new ValidationFailed({ details: [{ path: "email", message: "an email address, like name@example.com" }] })
  },
  InvalidCredentials: {
    status: 401,
    code: "invalid_credentials",
    message: () => "Wrong email or password, or a token that is missing or not valid. Log in for a new token.",
    headers: () => ({ "www-authenticate": "Bearer" }),
    meaning: "Wrong email or password, or a token that is missing, wrong, too old, or of a reseller who is not active.",
    example: new InvalidCredentials()
  },
  InsufficientQuota: {
    status: 402,
    code: "insufficient_quota",
    message: ({ balanceUsdMicro, neededUsdMicro }) =>
      `Your quota of ${balanceUsdMicro} micro-USD does not cover the ${neededUsdMicro} of this tier. Top up first.`,
    meaning: "The quota does not cover the price of the tier.",
    example: new InsufficientQuota({ balanceUsdMicro: 1_000_000n, neededUsdMicro: 5_000_000n })
  },
  EmailBlacklisted: {
    status: 403,
    code: "email_blacklisted",
    message: () => "This email may not sign up.",
    meaning: "The email, or its whole domain, may not sign up.",
    example: new EmailBlacklisted()
  },
  ResellerNotActive: {
    status: 403,
    code: "reseller_not_active",
    message: ({ status }) => `The password is right, but your account is ${status}. Ask the operator of this service.`,
    meaning: "The password is right, but the account is not active; the message says what it is instead.",
    example: new ResellerNotActive({ status: "pending" })
  },
  TopUpNotFound: {
    status: 404,
    code: "topup_not_found",
    message: () => "You have no top-up order of this id. GET /api/reseller/topups lists them.",
    meaning: "There is no such order of this reseller.",
    example: new TopUpNotFound()
  },
  NotFound: {
    status: 404,
    code: "not_found",
    message: ({ what }) => notFound[what],
    meaning: "There is no such thing, or it is not yours.",
    example: new NotFound({ what: "customer" })
  },
  EmailExists: {
    status: 409,
    code: "email_exists",
    message: () => "There is a reseller of this email already. Log in instead.",
    meaning: "There is a reseller of this email already.",
    example: new EmailExists()
  },
  IdempotencyConflict: {
    status: 409,
    code: "idempotency_conflict",
    message: () => "This operation_id was used for another customer or another tier. Use a new one.",
    meaning: "The `operation_id` was used for another customer or another tier.",
    example: new IdempotencyConflict()
  },
  RequestTooLarge: {
    status: 413,
    code: "request_too_large",
    message: ({ limitBytes }) => `The request body is larger than ${limitBytes} bytes. Send less.`,
    meaning: "The body is larger than 64 KiB.",
    example: new RequestTooLarge({ limitBytes: 65_536 })
  },
  AmountOutOfRange: {
    status: 422,
    code: "amount_out_of_range",
    message: (error) => `${error.path} must be ${rangeOf(error)}.`,
    details: (error) => [{ path: error.path, message: rangeOf(error) }],
    meaning: "The amount is smaller or larger than what can be topped up by this method.",
    example: new AmountOutOfRange({ path: "amount_idr", bounds: { min: 10_000n, max: 9_500_000n } })
  },
  TierNotAvailable: {
    status: 422,
    code: "tier_not_available",
    message: () => "This tier is not for sale. GET /api/reseller/tiers lists those that are.",
    meaning: "The tier is unknown, not for sale, or its model is retired.",
    example: new TierNotAvailable()
  },
  RateLimited: {
    status: 429,
    code: "rate_limited",
    message: ({ retryAfterSeconds }) => `Too many requests. Try again in ${retryAfterSeconds} seconds.`,
    headers: retryAfter,
    meaning: "Too many in too short a time; see `retry-after`.",
    example: new RateLimited({ retryAfterSeconds: 12 })
  },
  BadSignature: {
    status: 401,
    code: "invalid_signature",
    message: () => "The webhook is not signed by this payment provider.",
    meaning: "The signature over the body is missing or wrong.",
    example: new BadSignature({ provider: "midtrans" })
  },
  PaymentProviderUnavailable: {
    status: 503,
    code: "provider_unavailable",
    message: () => "Payments of this method cannot be taken at the moment. Try again later, or by another method.",
    headers: retryAfter,
    meaning: "Nobody can take a payment of this method now; see `retry-after`.",
    example: new PaymentProviderUnavailable({ retryAfterSeconds: 30 })
  },
  Overloaded: {
    status: 503,
    code: "overloaded",
    message: () => "The service is at its capacity. Try again after the time in `retry-after`.",
    headers: retryAfter,
    meaning: "The service is at its capacity, or being stopped; see `retry-after`.",
    example: new Overloaded({ retryAfterSeconds: 1 })
  }
}

export type ResellerErrorTag = keyof Rows

/** A response that is an error: status, headers beside the usual ones, JSON body. */
export interface ResellerErrorResponse {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly error: {
      readonly code: string
      readonly message: string
      readonly request_id: string
      readonly details?: ReadonlyArray<FieldIssue>
    }
  }
}

export const resellerErrorBody = (error: ResellerFailure, requestId: string): ResellerErrorResponse => {
  // The row of an error takes that error; the index by its tag loses that connection.
  const { status, code, message, details, headers } = rows[error._tag] as Row<ResellerFailure>
  const told = { code, message: message(error), request_id: requestId }
  return {
    status,
    code,
    headers: headers?.(error) ?? {},
    body: { error: details === undefined ? told : { ...told, details: details(error) } }
  }
}

/** The row as the documentation tells it. */
export const documentedRow = (tag: ResellerErrorTag): { readonly meaning: string; readonly example: ResellerFailure } =>
  rows[tag]
