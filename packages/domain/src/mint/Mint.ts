/**
 * A mint grants a tier to a customer: it debits the reseller's quota and credits the customer's plan. Either both are
 * booked or neither (docs/reference/reseller.md#e1, docs/reference/reseller.md#e2, docs/reference/reseller.md#e3,
 * docs/reference/reseller.md#e6).
 *
 * A reseller can use an operation id for at most one mint. A repeated request with the same customer and tier returns
 * the first result, even if the tier, the quota or the rate limit would refuse a new mint. A request with the same
 * operation id and another customer or tier is a conflict. After a refused mint, the operation id can be used again.
 */
import * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ModelId } from "../catalog/Model.ts"
import type { UserId } from "../customer/User.ts"
import * as Account from "../ledger/Account.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"
import { IdempotencyConflict, OperationId } from "../operations/Operation.ts"
import { InsufficientQuota } from "../reseller/QuotaAdjustment.ts"
import type { ResellerId } from "../reseller/Reseller.ts"
import { decideHit, type Limit } from "../reseller/SlidingWindow.ts"
import type { Position } from "../validation/Cursor.ts"
import { Email } from "../validation/Email.ts"
import type { RateLimited } from "../validation/RequestErrors.ts"
import { noNul } from "../validation/Text.ts"
import { invalid, type ValidationFailed } from "../validation/Validation.ts"
import { isAvailable, priceUsdMicroOf, type Tier, TierNotAvailable } from "./Tier.ts"

export type MintId = string & Brand.Brand<"MintId">
export const MintId = Brand.nominal<MintId>()

/** The id of a tier. The text need not be a UUID: an unknown id is refused later, as {@link TierNotAvailable}. */
const PlanTierId = Schema.Trim.pipe(
  Schema.compose(Schema.Lowercase),
  Schema.filter((s) => (s.length >= 1 && s.length <= 128) || "1 to 128 characters"),
  Schema.filter(noNul)
)

export const MintRequest = Schema.Struct({
  operationId: Schema.propertySignature(OperationId).pipe(Schema.fromKey("operation_id")),
  customerEmail: Schema.propertySignature(Email).pipe(Schema.fromKey("customer_email")),
  planTierId: Schema.propertySignature(PlanTierId).pipe(Schema.fromKey("plan_tier_id"))
})
export type MintRequest = typeof MintRequest.Type

/**
 * The customer and tier of a request as one text. A request with the operation id of an earlier mint repeats this mint
 * if the fingerprints are equal. Otherwise it is a conflict.
 */
export type MintFingerprint = string & Brand.Brand<"MintFingerprint">
export const MintFingerprint = Brand.nominal<MintFingerprint>()

export const fingerprintOf = ({ customerEmail, planTierId }: MintRequest): MintFingerprint =>
  MintFingerprint(JSON.stringify([customerEmail, planTierId]))

/** The stored result of a mint. It is never deleted. */
export interface Mint {
  readonly id: MintId
  readonly resellerId: ResellerId
  readonly operationId: OperationId
  readonly fingerprint: MintFingerprint
  readonly customerUserId: UserId
  readonly modelId: ModelId
  readonly planTierId: string
  readonly grantedTokens: Tokens
  readonly priceUsdMicro: UsdMicro
  /** The reseller's remaining quota immediately after the mint. */
  readonly balanceAfter: UsdMicro
  readonly mintedAt: Date
}

/** A mint in a list, with the email of its customer and the name of its model. */
export interface ListedMint
  extends Pick<
    Mint,
    | "operationId"
    | "planTierId"
    | "modelId"
    | "customerUserId"
    | "grantedTokens"
    | "priceUsdMicro"
    | "balanceAfter"
    | "mintedAt"
  > {
  /** The time and the id of the mint. */
  readonly position: Position
  readonly customerEmail: Email
  readonly modelName: string
}

export interface MintResult {
  readonly mint: Mint
  readonly alreadyApplied: boolean
}

/**
 * The rate limit of mints per reseller, across all nodes (docs/reference/reseller.md#e2). A repeated request that
 * returns the first result does not count, nor does a refused mint.
 */
export const mintLimit: Limit = { max: 30, windowMillis: 60_000 }

/** Refuses a new mint if the reseller has made too many mints recently. */
export const decideRate = (recent: ReadonlyArray<Date>, now: Date): Either.Either<ReadonlyArray<Date>, RateLimited> =>
  decideHit(recent, mintLimit, now)

/** The stored data from which a mint is decided. */
export interface MintBasis {
  /** The user with the requested email; undefined if there is none. */
  readonly customer: UserId | undefined
  readonly tier: Tier | undefined
  readonly quota: Account.QuotaAccount
  /** The customer's plan for the tier's model; undefined if the tier or the customer is undefined. */
  readonly plan: Account.PlanAccount | undefined
  /** The times of this reseller's recent mints: at least all mints within the window of {@link mintLimit}. */
  readonly recent: ReadonlyArray<Date>
}

export interface Minted {
  readonly mint: Mint
  readonly quota: Account.QuotaAccount
  readonly plan: Account.PlanAccount
  readonly bookings: readonly [pay: Booking, grant: Booking]
}

/**
 * The largest allowed sum of all tokens that were ever added to one plan. The API returns this sum as a JSON number,
 * which is exact up to this limit.
 */
const MAX_PLAN_TOKENS = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Decides a request with the operation id of an earlier mint: returns this mint if customer and tier are the same.
 */
export const decideRepeatedMint = (
  request: MintRequest,
  earlier: Mint
): Either.Either<MintResult, IdempotencyConflict> =>
  earlier.fingerprint === fingerprintOf(request)
    ? Either.right({ mint: earlier, alreadyApplied: true })
    : Either.left(new IdempotencyConflict())

/** Decides a request with an operation id that no mint has. */
export const decideMint = (
  { resellerId, request, id }: { readonly resellerId: ResellerId; readonly request: MintRequest; readonly id: MintId },
  { customer, tier, quota, plan, recent }: MintBasis,
  now: Date
): Either.Either<Minted, RateLimited | ValidationFailed | TierNotAvailable | InsufficientQuota> => {
  const allowed = decideRate(recent, now)
  if (Either.isLeft(allowed)) return Either.left(allowed.left)
  if (customer === undefined) return Either.left(invalid("customer_email", "no user of the service has this email"))
  if (tier === undefined || !isAvailable(tier) || plan === undefined) return Either.left(new TierNotAvailable())
  const { grantedTokens } = tier
  if (plan.creditsPosted + grantedTokens > MAX_PLAN_TOKENS) return Either.left(new TierNotAvailable())

  const priceUsdMicro = priceUsdMicroOf(tier)
  const balanceUsdMicro = Account.available(quota)
  if (balanceUsdMicro < priceUsdMicro) {
    return Either.left(new InsufficientQuota({ balanceUsdMicro, neededUsdMicro: priceUsdMicro }))
  }
  const debited = Account.debit(quota, priceUsdMicro)
  return Either.right({
    mint: {
      id,
      resellerId,
      operationId: request.operationId,
      fingerprint: fingerprintOf(request),
      customerUserId: customer,
      modelId: tier.modelId,
      planTierId: tier.id,
      grantedTokens,
      priceUsdMicro,
      balanceAfter: Account.remaining(debited),
      mintedAt: now
    },
    quota: debited,
    plan: Account.credit(plan, grantedTokens),
    bookings: [
      {
        code: "mint_pay",
        ref: id,
        unit: "usd_micro",
        debit: quota.id,
        credit: systemAccounts.planRevenue,
        amount: priceUsdMicro
      },
      {
        code: "mint_grant",
        ref: id,
        unit: "token",
        debit: systemAccounts.tokenIssuance,
        credit: plan.id,
        amount: grantedTokens
      }
    ]
  })
}
