/**
 * What a reseller can mint, cheapest first (spec: GET /api/reseller/tiers).
 */
import { priceList } from "@tollgate/domain/mint/Tier"
import * as Effect from "effect/Effect"
import { Tiers } from "./Tiers.ts"

export const listTiers = Effect.map(
  Effect.flatMap(Tiers, ({ all }) => all),
  priceList
)
