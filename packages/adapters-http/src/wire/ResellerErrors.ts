/**
 * Defines the error table of the reseller routes: one row with status, code and message for each error
 * (docs/reference/errors.md#err-6, docs/reference/errors.md#a5). The file does not compile if an error of a use case
 * has no row.
 */

import type { createCustomerKey, revokeCustomerKey } from "@tollgate/application/customer/ApiKeys"
import type { customerBalances, keyBalances } from "@tollgate/application/customer/Balances"
import type { resolveCustomer } from "@tollgate/application/customer/Customers"
import type { listCustomerKeys } from "@tollgate/application/customer/KeyLists"
import type { readUsage } from "@tollgate/application/customer/SettledUsage"
import type { Mints } from "@tollgate/application/mint/Mints"
import type { asReseller, changePassword, logIn, signUp } from "@tollgate/application/reseller/ResellerAccess"
import type { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import type { createTopUp, listTopUps, refreshForReseller } from "@tollgate/application/topup/TopUps"
import type {
  changeOwnEndpoint,
  createOwnEndpoint,
  listOwnDeliveries,
  replayOwnDelivery,
  testOwnEndpoint
} from "@tollgate/application/webhook/ResellerWebhooks"
import type { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import { TierNotAvailable } from "@tollgate/domain/mint/Tier"
import { IdempotencyConflict } from "@tollgate/domain/operations/Operation"
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import { TooManyUnpaidOrders, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import { NotFound, RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { WebhookDeliveryNotFound } from "@tollgate/domain/webhook/WebhookDelivery"
import { TooManyWebhookEndpoints, WebhookEndpointNotFound } from "@tollgate/domain/webhook/WebhookEndpoint"
import { errorTable, type FailureOf, type RowsOf } from "./ErrorRow.ts"
import { retryAfter, secondsText } from "./RetryAfter.ts"
import { bearerChallenge, overloaded, requestTooLarge, validationFailed } from "./SharedErrorRows.ts"

/** The errors of the use cases of the reseller routes, and of reading the requests to these routes. */
export type ResellerFailure =
  | FailureOf<
      | typeof signUp
      | typeof logIn
      | typeof asReseller<unknown, never, never>
      | typeof changePassword
      | typeof createTopUp
      | typeof refreshForReseller
      | typeof listTopUps
      | Mints["Type"]["mint"]
      | typeof resolveCustomer
      | typeof createCustomerKey
      | typeof revokeCustomerKey
      | typeof keyBalances
      | typeof customerBalances
      | typeof listCustomerKeys
      | typeof readUsage
      | typeof handleWebhook
      | typeof createOwnEndpoint
      | typeof changeOwnEndpoint
      | typeof testOwnEndpoint
      | typeof replayOwnDelivery
      | typeof listOwnDeliveries
    >
  | RequestTooLarge
  | Overloaded

const rangeOf = ({ bounds }: AmountOutOfRange): string =>
  bounds === null ? "an amount that the payment provider accepts" : `${bounds.min} to ${bounds.max}`

const notFound: { readonly [What in NotFound["what"]]: string } = {
  customer: "You have no customer with this id. GET /api/reseller/customers lists your customers.",
  key: "None of your customers has a key with this id.",
  webhook: "This service receives no webhooks from a payment provider with this name."
}

const rows: RowsOf<ResellerFailure> = {
  ValidationFailed: validationFailed({ path: "email", message: "an email address, like name@example.com" }),
  InvalidCredentials: {
    status: 401,
    code: "invalid_credentials",
    message: () => "The email or password is wrong, or the token is missing or invalid. Log in to get a new token.",
    headers: bearerChallenge,
    meaning:
      "The email or password is wrong, or the token is missing, invalid or expired, or its reseller is not active.",
    example: new InvalidCredentials()
  },
  InsufficientQuota: {
    status: 402,
    code: "insufficient_quota",
    message: ({ balanceUsdMicro, neededUsdMicro }) =>
      `Your quota of ${balanceUsdMicro} micro-USD does not cover the price of this tier, ${neededUsdMicro} micro-USD. Top up first.`,
    meaning: "The quota does not cover the price of the tier.",
    example: new InsufficientQuota({ balanceUsdMicro: 1_000_000n, neededUsdMicro: 5_000_000n })
  },
  EmailBlacklisted: {
    status: 403,
    code: "email_blacklisted",
    message: () => "This email is blocked from signing up.",
    meaning: "The email or its domain is blocked from signing up.",
    example: new EmailBlacklisted()
  },
  ResellerNotActive: {
    status: 403,
    code: "reseller_not_active",
    message: ({ status }) =>
      `The password is right, but your account is ${status}. Contact the operator of this service.`,
    meaning: "The password is right, but the account is not active; the message names the account's status.",
    example: new ResellerNotActive({ status: "pending" })
  },
  TopUpNotFound: {
    status: 404,
    code: "topup_not_found",
    message: () => "You have no top-up order with this id. GET /api/reseller/topups lists your orders.",
    meaning: "The reseller has no such order.",
    example: new TopUpNotFound()
  },
  NotFound: {
    status: 404,
    code: "not_found",
    message: ({ what }) => notFound[what],
    meaning:
      "The customer or key in the path does not exist or does not belong to the reseller, or the service receives no webhooks from the payment provider in the path.",
    example: new NotFound({ what: "customer" })
  },
  WebhookEndpointNotFound: {
    status: 404,
    code: "endpoint_not_found",
    message: () =>
      "You have no webhook endpoint with this id. GET /api/reseller/webhooks/endpoints lists your endpoints.",
    meaning: "The reseller has no such webhook endpoint.",
    example: new WebhookEndpointNotFound()
  },
  WebhookDeliveryNotFound: {
    status: 404,
    code: "delivery_not_found",
    message: () => "You have no delivery with this id. GET /api/reseller/webhooks/deliveries lists your deliveries.",
    meaning: "The reseller has no such delivery of a webhook.",
    example: new WebhookDeliveryNotFound()
  },
  TooManyWebhookEndpoints: {
    status: 409,
    code: "too_many_endpoints",
    message: ({ max }) => `You have ${max} webhook endpoints. Delete one of them first.`,
    meaning: "The reseller already has the maximum number of webhook endpoints.",
    example: new TooManyWebhookEndpoints({ max: 10 })
  },
  EmailExists: {
    status: 409,
    code: "email_exists",
    message: () => "A reseller with this email already exists. Log in instead.",
    meaning: "A reseller with this email already exists.",
    example: new EmailExists()
  },
  IdempotencyConflict: {
    status: 409,
    code: "idempotency_conflict",
    message: () => "This operation_id was already used for another request. Use a new operation_id.",
    meaning:
      "The `operation_id` was already used by a mint for another customer or tier, or by a top-up for another order.",
    example: new IdempotencyConflict()
  },
  RequestTooLarge: requestTooLarge("The body is larger than 64 KiB."),
  AmountOutOfRange: {
    status: 422,
    code: "amount_out_of_range",
    message: (error) => `${error.path} must be ${rangeOf(error)}.`,
    details: (error) => [{ path: error.path, message: rangeOf(error) }],
    meaning:
      "The amount is outside the limits of the payment method, or the payment provider does not accept the amount.",
    example: new AmountOutOfRange({ path: "amount_idr", bounds: { min: 10_000n, max: 9_500_000n } })
  },
  TierNotAvailable: {
    status: 422,
    code: "tier_not_available",
    message: () =>
      "This tier is not for sale, or the customer's plan cannot hold its tokens. GET /api/reseller/tiers lists the tiers for sale.",
    meaning:
      "The tier is unknown or not for sale, its model cannot be called, or the customer's plan cannot hold more tokens.",
    example: new TierNotAvailable()
  },
  RateLimited: {
    status: 429,
    code: "rate_limited",
    message: ({ retryAfterSeconds }) => `Too many requests. Try again in ${secondsText(retryAfterSeconds)}.`,
    headers: retryAfter,
    meaning: "Too many requests; see `retry-after`.",
    example: new RateLimited({ retryAfterSeconds: 12 })
  },
  TooManyUnpaidOrders: {
    status: 429,
    code: "rate_limited",
    message: ({ maxUnpaidOrders, retryAfterSeconds }) =>
      `You have ${maxUnpaidOrders} unpaid orders. Pay one of them, or try again in ${secondsText(retryAfterSeconds)}.`,
    headers: retryAfter,
    meaning: "The reseller has 50 unpaid orders; see `retry-after` for the time until another order can be allowed.",
    example: new TooManyUnpaidOrders({ maxUnpaidOrders: 50, retryAfterSeconds: 720 })
  },
  BadSignature: {
    status: 401,
    code: "invalid_signature",
    message: () => "The signature of the webhook is missing or wrong.",
    meaning: "The signature of the webhook is missing or wrong.",
    example: new BadSignature({ provider: "midtrans" })
  },
  PaymentProviderUnavailable: {
    status: 503,
    code: "provider_unavailable",
    message: () => "This payment method is temporarily unavailable. Try again later or use another method.",
    headers: retryAfter,
    meaning:
      "A payment cannot be opened or read now: no payment provider of the method is available, or the reseller opens too many payments at the same time; see `retry-after`.",
    example: new PaymentProviderUnavailable({ retryAfterSeconds: 30 })
  },
  Overloaded: overloaded
}

export type ResellerErrorTag = ResellerFailure["_tag"]

export const { bodyOf: resellerErrorBody, documentedError } = errorTable<ResellerFailure>(rows)
