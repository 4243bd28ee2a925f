/**
 * Mints: a reseller's quota becomes tokens of a customer. And the tiers that a reseller can mint.
 */
import type { IdempotencyConflict, MintRequest, MintResult } from "@tollgate/domain/mint/Mint"
import { priceList, type Tier, type TierNotAvailable } from "@tollgate/domain/mint/Tier"
import type { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import type { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export class Mints extends Context.Tag("@tollgate/application/Mints")<
  Mints,
  {
    /**
     * Mints a tier for a customer (docs/reference/reseller.md#mint-2) in one transaction. It locks the reseller's quota
     * account, which serializes the mints of a reseller. It applies `decideReplay` if (reseller, operation id) has
     * minted before, and `decideMint` at the database's clock otherwise. It then writes both accounts, both transfers
     * and the mint. Of concurrent requests with one id one mints and the others replay it. Over any number of ids and
     * nodes, the mints in any window stay within the limit. A refusal writes nothing.
     */
    readonly mint: (
      resellerId: ResellerId,
      request: MintRequest
    ) => Effect.Effect<
      MintResult,
      IdempotencyConflict | RateLimited | ValidationFailed | TierNotAvailable | InsufficientQuota
    >
  }
>() {}

export class Tiers extends Context.Tag("@tollgate/application/Tiers")<
  Tiers,
  {
    /** Every stored tier, unordered; `priceList` of the domain selects and orders the tiers for sale. */
    readonly all: Effect.Effect<ReadonlyArray<Tier>>
  }
>() {}

/** The tiers for sale, cheapest first (docs/reference/reseller.md#mint-1). */
export const listTiers = Effect.map(
  Effect.flatMap(Tiers, ({ all }) => all),
  priceList
)
