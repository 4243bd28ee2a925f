/**
 * Declares the stores of mints and tiers. A mint debits a reseller's quota and credits tokens to a customer's plan. A
 * tier is a number of tokens that can be minted, with its price.
 */
import type { MintRequest, MintResult } from "@tollgate/domain/mint/Mint"
import { priceList, type Tier, type TierNotAvailable } from "@tollgate/domain/mint/Tier"
import type { IdempotencyConflict } from "@tollgate/domain/operations/Operation"
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
     * Mints a tier for a customer in one transaction (docs/reference/reseller.md#mint-2). Locks the reseller's quota
     * account, so that the reseller's mints run one after another. If a mint with the operation id exists, applies
     * `decideRepeatedMint`. Otherwise applies `decideMint` at the database time, and writes both accounts, both
     * transfers and the mint. If several requests with the same operation id run concurrently, at most one of them
     * mints. The rate limit applies over all operation ids and nodes. A refused mint writes nothing.
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
    /** Returns every stored tier in any order. `priceList` selects and sorts the available tiers. */
    readonly all: Effect.Effect<ReadonlyArray<Tier>>
  }
>() {}

/** Returns the available tiers, cheapest first (docs/reference/reseller.md#mint-1). */
export const listTiers = Effect.map(
  Effect.flatMap(Tiers, ({ all }) => all),
  priceList
)
