/**
 * How a request of a reseller can be refused. What each looks like on the wire is decided in one table of the HTTP
 * adapter; no status or code stands here.
 */
import * as Schema from "effect/Schema"
import { ResellerStatus } from "./Reseller.ts"

/** What is wrong with one member of a body or query. */
export const FieldIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type FieldIssue = typeof FieldIssue.Type

/** Members are missing, malformed or contradict each other. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  details: Schema.Array(FieldIssue)
}) {}

/** There is a reseller of this email already. */
export class EmailExists extends Schema.TaggedError<EmailExists>()("EmailExists", {}) {}

/** This email, or its whole domain, may not sign up. */
export class EmailBlacklisted extends Schema.TaggedError<EmailBlacklisted>()("EmailBlacklisted", {}) {}

/** Wrong email or password, or a token that is missing, wrong, too old, or of somebody who may not use it any more. */
export class InvalidCredentials extends Schema.TaggedError<InvalidCredentials>()("InvalidCredentials", {}) {}

/** The password is right, but the reseller is not active. */
export class ResellerNotActive extends Schema.TaggedError<ResellerNotActive>()("ResellerNotActive", {
  status: ResellerStatus
}) {}

/** Too often in too short a time. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  retryAfterSeconds: Schema.Int
}) {}

/** The amount is a whole number, but not one that can be topped up. Of a provider's own limit the bounds are unknown. */
export class AmountOutOfRange extends Schema.TaggedError<AmountOutOfRange>()("AmountOutOfRange", {
  path: Schema.Literal("amount_idr", "amount_usd_micro"),
  bounds: Schema.NullOr(Schema.Struct({ min: Schema.BigIntFromSelf, max: Schema.BigIntFromSelf }))
}) {}

/** Nobody can take a payment of this method now. */
export class PaymentProviderUnavailable extends Schema.TaggedError<PaymentProviderUnavailable>()(
  "PaymentProviderUnavailable",
  { retryAfterSeconds: Schema.Int }
) {}

/** This reseller has no such order. */
export class TopUpNotFound extends Schema.TaggedError<TopUpNotFound>()("TopUpNotFound", {}) {}

/** The quota does not cover what is to be taken from it. */
export class InsufficientQuota extends Schema.TaggedError<InsufficientQuota>()("InsufficientQuota", {
  balanceUsdMicro: Schema.BigIntFromSelf,
  neededUsdMicro: Schema.BigIntFromSelf
}) {}

/** The operation id was used for another customer or another tier. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/** The tier is unknown, not for sale, or of a model that cannot be called. */
export class TierNotAvailable extends Schema.TaggedError<TierNotAvailable>()("TierNotAvailable", {}) {}

/** This reseller has no such customer or key (whether anybody else has is not told), or nobody has such a webhook. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  what: Schema.Literal("customer", "key", "webhook")
}) {}
