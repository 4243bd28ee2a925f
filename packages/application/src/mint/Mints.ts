/**
 * Mints: quota turned into a customer's tokens.
 */
import type { IdempotencyConflict, MintRequest, MintResult } from "@tollgate/domain/mint/Mint"
import type { TierNotAvailable } from "@tollgate/domain/mint/Tier"
import type { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import type { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Mints extends Context.Tag("@tollgate/application/Mints")<
  Mints,
  {
    /**
     * One transaction: locks the reseller's quota account, which puts all mints of a reseller one after the other;
     * `decideReplay` where (reseller, operation id) has minted, else `decideMint` at the database's clock; then writes
     * both accounts, both transfers and the mint. Of many racing posts of one id one mints and the others replay; of
     * many ids no more than the limit mint in any window, on however many nodes. A refusal writes nothing.
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
