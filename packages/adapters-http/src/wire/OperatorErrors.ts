/**
 * Defines the error table of the operator API: one row with status, code and message for each error
 * (docs/reference/operator.md#errors). The file does not compile if an error of a use case has no row.
 */
import type { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import type { Customers } from "@tollgate/application/customer/Customers"
import type { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import type { Users } from "@tollgate/application/customer/Users"
import type { ImageReviews } from "@tollgate/application/images/ImageReviews"
import type * as Lists from "@tollgate/application/operator/OperatorLists"
import type { asOperator, endSessionOf, openSession } from "@tollgate/application/operator/OperatorSessions"
import type { refreshForOperator } from "@tollgate/application/operator/OperatorTopUps"
import type { Blacklist } from "@tollgate/application/reseller/Blacklist"
import type { Quota } from "@tollgate/application/reseller/Quota"
import type { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { CatalogFileInvalid } from "@tollgate/domain/catalog/CatalogFile"
import { ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { CreditConflict, TotalCreditExceeded } from "@tollgate/domain/customer/PaygCredit"
import { UserExists, UserNotFound } from "@tollgate/domain/customer/User"
import { ReviewNotFound, ReviewResolved } from "@tollgate/domain/images/ImageReview"
import type { RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import {
  InvalidConsoleCode,
  InvalidOperatorSession,
  OperatorConsoleOff,
  OperatorSessionNotFound
} from "@tollgate/domain/operator/OperatorSession"
import { PatternNotListed } from "@tollgate/domain/reseller/Blacklist"
import { AdjustmentConflict, InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import { ReviewRefused } from "@tollgate/domain/reseller/Review"
import { TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { errorTable, type FailureOf, type RowsOf } from "./ErrorRow.ts"
import { retryAfter, secondsText } from "./RetryAfter.ts"
import { bearerChallenge, overloaded, requestTooLarge, validationFailed } from "./SharedErrorRows.ts"

/** The errors of the use cases of the operator API, and of reading the requests to it. */
export type OperatorFailure =
  | FailureOf<
      | typeof openSession
      | typeof endSessionOf
      | typeof asOperator<unknown, never, never>
      | typeof Lists.listTopUpsForOperator
      | typeof reviewReseller
      | typeof refreshForOperator
      | typeof Lists.listKeysOfUser
      | Users["Type"]["create"]
      | PaygAccounts["Type"]["credit"]
      | Customers["Type"]["link"]
      | ApiKeys["Type"]["revoke"]
      | Blacklist["Type"]["remove"]
      | Quota["Type"]["adjust"]
      | ImageReviews["Type"]["resolve"]
    >
  | RequestTooLarge
  | CatalogFileInvalid

const MAX_ISSUES = 50

const rows: RowsOf<OperatorFailure> = {
  ValidationFailed: validationFailed({ path: "code", message: "is missing" }),
  CatalogFileInvalid: {
    status: 422,
    code: "catalog_file_invalid",
    message: ({ issues: [first] }) =>
      `The catalog cannot be used, and nothing was changed: ${first ?? "it is invalid"}.`,
    details: ({ issues }) => issues.slice(0, MAX_ISSUES).map((message) => ({ path: "catalog", message })),
    meaning: "The catalog file is invalid; `details` has its first 50 errors.",
    example: new CatalogFileInvalid({ issues: ['models[0].routes: no provider "openai" in this file'] })
  },
  InvalidConsoleCode: {
    status: 401,
    code: "invalid_code",
    message: () => "The code is wrong, used, expired or revoked. Run `tollgate console` to get a new code.",
    headers: bearerChallenge,
    meaning: "The code is unknown, already used, older than two minutes or revoked.",
    example: new InvalidConsoleCode()
  },
  InvalidOperatorSession: {
    status: 401,
    code: "invalid_session",
    message: () => "The session is missing, expired or ended. Run `tollgate console` to open a new session.",
    headers: bearerChallenge,
    meaning: "The token is missing or unknown, or its session has expired or ended.",
    example: new InvalidOperatorSession()
  },
  OperatorConsoleOff: {
    status: 404,
    code: "operator_console_off",
    message: () => "The operator API of this service is off. Set OPERATOR_CONSOLE=on and restart the server.",
    meaning: "The setting `OPERATOR_CONSOLE` is off. Every route of the operator API returns this error.",
    example: new OperatorConsoleOff()
  },
  InsufficientBalance: {
    status: 402,
    code: "insufficient_balance",
    message: () => "The customer's pay-as-you-go balance does not cover the amount. Nothing was charged.",
    meaning: "The customer's pay-as-you-go balance does not cover the amount; the review stays open.",
    example: new InsufficientBalance()
  },
  InsufficientQuota: {
    status: 402,
    code: "insufficient_quota",
    message: ({ balanceUsdMicro, neededUsdMicro }) =>
      `The reseller has a quota of ${balanceUsdMicro} micro-USD, less than the ${neededUsdMicro} micro-USD to deduct. Nothing was changed.`,
    meaning: "The quota does not cover the amount to deduct; quota never becomes negative.",
    example: new InsufficientQuota({ balanceUsdMicro: 1_000_000n, neededUsdMicro: 5_000_000n })
  },
  ResellerNotFound: {
    status: 404,
    code: "reseller_not_found",
    message: () => "There is no reseller with this id or email.",
    meaning: "No reseller has this id or email.",
    example: new ResellerNotFound({ reseller: "owner@tokotoken.example" })
  },
  TopUpNotFound: {
    status: 404,
    code: "topup_not_found",
    message: () => "There is no top-up order with this id or number.",
    meaning: "No top-up order has this id or number.",
    example: new TopUpNotFound()
  },
  ReviewNotFound: {
    status: 404,
    code: "review_not_found",
    message: () => "No image request with this id is in the review queue.",
    meaning: "No image request with this id is in the review queue.",
    example: new ReviewNotFound({ requestId: "019a9f0e-8888-7d1a-9a41-6f1f0d7b2c11" })
  },
  UserNotFound: {
    status: 404,
    code: "user_not_found",
    message: () => "There is no customer with this id or email.",
    meaning: "No customer has this id or email.",
    example: new UserNotFound({ email: "customer@example.com" })
  },
  ApiKeyNotFound: {
    status: 404,
    code: "key_not_found",
    message: () => "There is no API key with this id.",
    meaning: "No API key has this id.",
    example: new ApiKeyNotFound({ keyId: "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11" })
  },
  OperatorSessionNotFound: {
    status: 404,
    code: "session_not_found",
    message: () => "There is no operator session with this id.",
    meaning: "No stored operator session has this id.",
    example: new OperatorSessionNotFound({ id: "019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11" })
  },
  PatternNotListed: {
    status: 404,
    code: "pattern_not_listed",
    message: ({ pattern }) => `${pattern} is not on the blacklist.`,
    meaning: "The blacklist does not contain this pattern.",
    example: new PatternNotListed({ pattern: "@spam.example" })
  },
  UserExists: {
    status: 409,
    code: "user_exists",
    message: () => "A customer with this email already exists.",
    meaning: "A customer with this email already exists.",
    example: new UserExists({ email: "customer@example.com" })
  },
  CreditConflict: {
    status: 409,
    code: "operation_conflict",
    message: () => "This operation_id was already used for another customer or another amount. Use a new operation_id.",
    meaning: "The `operation_id` was already used for another customer or another amount.",
    example: new CreditConflict({ operationId: "goodwill of ticket 9" })
  },
  TotalCreditExceeded: {
    status: 422,
    code: "amount_out_of_range",
    message: ({ creditableUsdMicro }) =>
      `At most ${creditableUsdMicro} micro-USD can still be credited to this customer, because all its credits together, also the spent ones, have a maximum. Nothing was changed. Credit a smaller amount, or credit another customer.`,
    details: ({ creditableUsdMicro }) => [
      { path: "amount_usd_micro", message: `at most ${creditableUsdMicro} for this customer` }
    ],
    meaning: "All credits of the customer together, also the spent ones, would exceed 9,223,372.036854775807 USD.",
    example: new TotalCreditExceeded({ creditableUsdMicro: 223_372_036_854n })
  },
  ReviewRefused: {
    status: 409,
    code: "review_refused",
    message: ({ move, status }) =>
      `A reseller with the status ${status} cannot be changed by ${move}. Nothing was changed.`,
    meaning: "The status of the reseller does not allow this decision.",
    example: new ReviewRefused({ move: "reject", status: "active" })
  },
  ReviewResolved: {
    status: 409,
    code: "review_resolved",
    message: ({ resolution }) => `The image request is already ${resolution}. Nothing was changed.`,
    meaning: "The review is already resolved.",
    example: new ReviewResolved({ requestId: "019a9f0e-8888-7d1a-9a41-6f1f0d7b2c11", resolution: "waived" })
  },
  AdjustmentConflict: {
    status: 409,
    code: "operation_conflict",
    message: () => "This operation_id was already used for another reseller or another amount. Use a new operation_id.",
    meaning: "The `operation_id` was already used for another reseller or another amount.",
    example: new AdjustmentConflict({ operationId: "refund of order 7" })
  },
  RequestTooLarge: requestTooLarge("The body is larger than the route accepts."),
  RateLimited: {
    status: 429,
    code: "rate_limited",
    message: ({ retryAfterSeconds }) => `Too many failed attempts. Try again in ${secondsText(retryAfterSeconds)}.`,
    headers: retryAfter,
    meaning:
      "The code or token is invalid, and this IP address has failed ten times within a minute; see `retry-after`.",
    example: new RateLimited({ retryAfterSeconds: 12 })
  },
  Overloaded: overloaded
}

export type OperatorErrorTag = OperatorFailure["_tag"]

export const { bodyOf: operatorErrorBody, documentedError } = errorTable<OperatorFailure>(rows)
