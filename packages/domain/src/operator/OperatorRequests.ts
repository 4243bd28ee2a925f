/**
 * Defines the bodies with which operators make changes over HTTP.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { KeyLimitsChange } from "../customer/KeyLimits.ts"
import { MAX_CREDIT } from "../customer/PaygCredit.ts"
import { MAX_CHARGE } from "../images/ImageReview.ts"
import { UsdMicro } from "../money/UsdMicro.ts"
import { OperationId, Reason } from "../operations/Operation.ts"
import { BlacklistPattern } from "../reseller/Blacklist.ts"
import { QuotaChange } from "../reseller/QuotaAdjustment.ts"
import { ReviewMove } from "../reseller/Review.ts"
import { Email } from "../validation/Email.ts"

const reason = Schema.optional(Reason)

const MICRO_USD = "a string of digits: an amount in micro-USD, of which 1000000 are one USD"

/** Declares a positive amount in micro-USD, as a string of digits. */
const amountUpTo = (max: bigint) =>
  Schema.String.pipe(
    Schema.filter((text) => /^[0-9]{1,30}$/.test(text) || MICRO_USD),
    Schema.compose(Schema.BigInt),
    Schema.filter((amount) => (amount > 0n && amount <= max) || `1 to ${max} micro-USD`),
    Schema.fromBrand(UsdMicro)
  )

const Change = Schema.String.pipe(
  Schema.filter((text) => /^-?[0-9]{1,30}$/.test(text) || `${MICRO_USD}, with a leading - to deduct`),
  Schema.compose(Schema.BigInt),
  Schema.filter(
    (amount) => Either.isRight(QuotaChange.either(amount)) || "an amount other than 0, of at most 1000000000 USD"
  ),
  Schema.fromBrand(QuotaChange)
)

const renamed = <A>(schema: Schema.Schema<A, string>, name: string) =>
  Schema.propertySignature(schema).pipe(Schema.fromKey(name))

export const ReviewRequest = Schema.Struct({ move: ReviewMove, reason })
export type ReviewRequest = typeof ReviewRequest.Type

/** The body of a change that needs no reason. */
export const OptionalReason = Schema.Struct({ reason })

/** The body that sets all limits of a key. */
export const KeyLimitsRequest = Schema.Struct({ limits: KeyLimitsChange, reason })

/** The body of a change that needs a reason. */
export const RequiredReason = Schema.Struct({ reason: Reason })

export const BlacklistRequest = Schema.Struct({ pattern: BlacklistPattern, reason })

export const ImageChargeRequest = Schema.Struct({
  amount: renamed(amountUpTo(MAX_CHARGE), "amount_usd_micro"),
  reason: Reason
})

export const QuotaRequest = Schema.Struct({
  change: renamed(Change, "amount_usd_micro"),
  operationId: renamed(OperationId, "operation_id"),
  reason: Reason
})

export const CreditRequest = Schema.Struct({
  amount: renamed(amountUpTo(MAX_CREDIT), "amount_usd_micro"),
  operationId: renamed(OperationId, "operation_id"),
  reason: Reason
})

/** The body that applies a catalog. `catalog` is the content of a catalog file, which `parseCatalogFile` reads. */
export const CatalogRequest = Schema.Struct({ catalog: Schema.Unknown, reason })

export const CustomerRequest = Schema.Struct({ email: Email, reason })
