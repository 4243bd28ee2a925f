/**
 * Tiers, and giving them to customers. A tier is told by its members one by one: what else is known of it is not for
 * resellers.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { listTiers } from "@tollgate/application/mint/ListTiers"
import * as useCases from "@tollgate/application/mint/MintTier"
import { MintRequest, type MintResult } from "@tollgate/domain/mint/Mint"
import { priceUsdMicroOf, type Tier, topupIdrRequiredOf } from "@tollgate/domain/mint/Tier"
import * as Effect from "effect/Effect"
import { forReseller } from "../auth/ResellerCaller.ts"
import { wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { MintApi, type MintResultBody, type TierBody, type TierList } from "./MintApi.ts"

const toTier = (tier: Tier): typeof TierBody.Type => ({
  plan_tier_id: tier.id,
  model_id: tier.modelId,
  model_name: tier.modelName,
  tier_usd_cents: wholeNumber(tier.tierUsdCents),
  price_usd_micro: wholeNumber(priceUsdMicroOf(tier)),
  granted_tokens: wholeNumber(tier.grantedTokens),
  topup_idr_required: wholeNumber(topupIdrRequiredOf(tier))
})

const toResult = ({ mint, alreadyApplied }: MintResult): typeof MintResultBody.Type => ({
  customer_user_id: mint.customerUserId,
  model_id: mint.modelId,
  granted_tokens: wholeNumber(mint.grantedTokens),
  price_usd_micro: mint.priceUsdMicro.toString(),
  balance_after: mint.balanceAfter.toString(),
  already_applied: alreadyApplied
})

const tiers = forReseller(() => Effect.map(listTiers, (all): typeof TierList.Type => ({ tiers: all.map(toTier) })))

const mintTier = forReseller(({ id }) =>
  Effect.flatMap(jsonBody(MintRequest), (request) => Effect.map(useCases.mintTier(id, request), toResult))
)

export const layer = HttpApiBuilder.group(gateway.add(MintApi), "mints", (handlers) =>
  handlers.handleRaw("listTiers", () => tiers).handleRaw("mintTier", () => mintTier)
)
