/**
 * Tiers as rows, with what their model says of them.
 */
import { ModelId } from "@tollgate/domain/catalog/Model"
import type { Tier, TierId } from "@tollgate/domain/mint/Tier"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"

export interface TierRow {
  readonly id: TierId
  readonly model_id: string
  readonly model_name: string
  readonly model_callable: boolean
  readonly tier_usd_cents: bigint
  readonly granted_tokens: bigint
  readonly for_sale: boolean
}

/** All of them; a condition on `t` may follow. */
export const TIERS = `
  SELECT t.id, t.model_id, m.public_name AS model_name, NOT m.hidden AND NOT m.retired AS model_callable,
    t.tier_usd_cents, t.granted_tokens, t.for_sale
  FROM tier t JOIN model m ON m.id = t.model_id`

export const toTier = (row: TierRow): Tier => ({
  id: row.id,
  modelId: ModelId(row.model_id),
  modelName: row.model_name,
  modelCallable: row.model_callable,
  tierUsdCents: UsdCents(row.tier_usd_cents),
  grantedTokens: Tokens(row.granted_tokens),
  forSale: row.for_sale
})
