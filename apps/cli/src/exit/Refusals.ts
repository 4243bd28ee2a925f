/**
 * Defines the code and the message for each error with which the domain refuses a command.
 */
import type { CatalogFileInvalid } from "@tollgate/domain/catalog/CatalogFile"
import type { ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import type { UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import type { CreditConflict, TotalCreditExceeded } from "@tollgate/domain/customer/PaygCredit"
import type { UserExists, UserNotFound } from "@tollgate/domain/customer/User"
import type { ReviewNotFound, ReviewResolved } from "@tollgate/domain/images/ImageReview"
import type { RequestNotFound } from "@tollgate/domain/inference/RequestRecord"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { OperatorSessionNotFound } from "@tollgate/domain/operator/OperatorSession"
import type { PatternNotListed } from "@tollgate/domain/reseller/Blacklist"
import type { AdjustmentConflict, InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { ReviewRefused } from "@tollgate/domain/reseller/Review"
import type { TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import type { WebhookDeliveryNotFound } from "@tollgate/domain/webhook/WebhookDelivery"
import type { TooManyWebhookEndpoints, WebhookEndpointNotFound } from "@tollgate/domain/webhook/WebhookEndpoint"
import { CommandFailed } from "./CommandFailed.ts"

export type Refusal =
  | UserExists
  | UserNotFound
  | ApiKeyNotFound
  | UnknownModels
  | CreditConflict
  | TotalCreditExceeded
  | CatalogFileInvalid
  | ResellerNotFound
  | ReviewRefused
  | PatternNotListed
  | AdjustmentConflict
  | InsufficientQuota
  | TopUpNotFound
  | ReviewNotFound
  | ReviewResolved
  | InsufficientBalance
  | RequestNotFound
  | OperatorSessionNotFound
  | WebhookEndpointNotFound
  | WebhookDeliveryNotFound
  | TooManyWebhookEndpoints

interface RefusalText {
  readonly code: string
  readonly message: string
}

type RefusalTexts = { readonly [Tag in Refusal["_tag"]]: (refusal: Extract<Refusal, { _tag: Tag }>) => RefusalText }

const texts: RefusalTexts = {
  RequestNotFound: ({ requestId }) => ({
    code: "request_not_found",
    message:
      `There is no open or settled request ${requestId}. A request that was refused before it had a hold, for example ` +
      "with 401, 402 or 404, is not stored."
  }),
  UserExists: ({ email }) => ({
    code: "user_exists",
    message: `The user ${email} already exists. See: tollgate users show ${email}`
  }),
  UserNotFound: ({ email }) => ({
    code: "user_not_found",
    message: `The user ${email} does not exist. Create one with: tollgate users create ${email}`
  }),
  ApiKeyNotFound: ({ keyId }) => ({
    code: "key_not_found",
    message: `The key ${keyId} does not exist. List a user's keys with: tollgate keys list --user EMAIL`
  }),
  UnknownModels: ({ models }) => ({
    code: "unknown_models",
    message: `The catalog has no model ${models.join(", ")}. Nothing was changed. See: tollgate catalog show`
  }),
  CreditConflict: ({ operationId }) => ({
    code: "operation_conflict",
    message:
      `The operation id ${operationId} is already used for another user or another amount. ` +
      "No balance was changed; use a new operation id for a new credit."
  }),
  TotalCreditExceeded: ({ creditableUsdMicro }) => ({
    code: "amount_out_of_range",
    message:
      `At most ${creditableUsdMicro} micro-USD can still be credited to this user, because all credits of a user ` +
      "together, also the spent ones, have a maximum. No balance was changed; credit a smaller amount, or another user."
  }),
  CatalogFileInvalid: ({ issues }) => ({
    code: "catalog_file_invalid",
    message: [
      "The catalog file cannot be used, and nothing was changed:",
      ...issues.slice(0, MAX_ISSUES).map((issue) => `  ${issue}`),
      ...(issues.length > MAX_ISSUES ? [`  and ${issues.length - MAX_ISSUES} more`] : [])
    ].join("\n")
  }),
  ResellerNotFound: ({ reseller }) => ({
    code: "reseller_not_found",
    message: `The reseller ${reseller} does not exist. List the resellers with: tollgate resellers list`
  }),
  ReviewRefused: ({ move, status }) => ({
    code: "review_refused",
    message: `The command ${move} does not apply to a reseller with the status ${status}. Nothing was changed.`
  }),
  PatternNotListed: ({ pattern }) => ({
    code: "pattern_not_listed",
    message: `${pattern} is not on the blacklist. Show the blacklist with: tollgate blacklist list`
  }),
  AdjustmentConflict: ({ operationId }) => ({
    code: "operation_conflict",
    message:
      `The operation id ${operationId} is already used for another reseller or another amount. ` +
      "No balance was changed; use a new operation id for a new change."
  }),
  InsufficientQuota: ({ balanceUsdMicro, neededUsdMicro }) => ({
    code: "insufficient_quota",
    message:
      `The reseller has a quota of ${balanceUsdMicro} micro-USD, less than the ${neededUsdMicro} micro-USD to deduct. ` +
      "No balance was changed: quota never becomes negative."
  }),
  TopUpNotFound: () => ({
    code: "topup_not_found",
    message: "The order does not exist. List the orders with: tollgate topups list"
  }),
  ReviewNotFound: ({ requestId }) => ({
    code: "review_not_found",
    message: `No image request ${requestId} is in the review queue. List the queue with: tollgate images review list --all`
  }),
  ReviewResolved: ({ requestId, resolution }) => ({
    code: "review_resolved",
    message: `The image request ${requestId} is already ${resolution}. Nothing was changed.`
  }),
  OperatorSessionNotFound: ({ id }) => ({
    code: "session_not_found",
    message: `The session ${id} does not exist. List the sessions with: tollgate console list`
  }),
  WebhookEndpointNotFound: () => ({
    code: "endpoint_not_found",
    message: "The endpoint does not exist. List the endpoints with: tollgate webhooks endpoints list"
  }),
  WebhookDeliveryNotFound: () => ({
    code: "delivery_not_found",
    message: "The delivery does not exist. List the deliveries with: tollgate webhooks list"
  }),
  TooManyWebhookEndpoints: ({ max }) => ({
    code: "too_many_endpoints",
    message: `The owner already has ${max} endpoints. Delete one of them first: tollgate webhooks endpoints delete ID`
  }),
  InsufficientBalance: () => ({
    code: "insufficient_balance",
    message: "The user's pay-as-you-go balance does not cover the amount. Nothing was charged; the review stays open."
  })
}

const MAX_ISSUES = 50

export const refused = (refusal: Refusal): CommandFailed => {
  // The compiler checks that the table has a row for each tag, but cannot infer the type of the lookup.
  const textOf = texts[refusal._tag] as (refusal: Refusal) => RefusalText
  return new CommandFailed({ exit: "refused", ...textOf(refusal) })
}
