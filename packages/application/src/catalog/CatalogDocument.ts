/**
 * Builds the JSON of the stored catalog. This JSON can be applied as a catalog file. It also has the ids, the retired
 * models and the version of the stored catalog. It names the environment variables with the API keys of providers, and
 * never contains a key.
 */
import { tiersByModel } from "@tollgate/domain/catalog/CatalogDifference"
import { needsAllowHttp } from "@tollgate/domain/catalog/CatalogFile"
import type { StoredCatalog } from "./Catalogs.ts"

/**
 * Converts a price or a number of tokens. Constraints of the database keep these amounts below 2^53, so this is exact.
 */
const exact = (amount: bigint): number => +amount.toString()

export const catalogDocument = ({ models, providers, tiers, version }: StoredCatalog) => {
  const tiersOf = tiersByModel(tiers)
  return {
    version,
    providers: providers.map((provider) => ({
      name: provider.name,
      base_url: provider.baseUrl,
      api_key_env: provider.apiKeyEnv,
      auth: provider.auth,
      protocols: provider.protocols,
      ...(needsAllowHttp(provider.baseUrl) ? { allow_http: true } : {}),
      max_concurrency: provider.maxConcurrency,
      timeouts: {
        first_byte_ms: provider.timeouts.firstByteMillis,
        idle_ms: provider.timeouts.idleMillis,
        total_ms: provider.timeouts.totalMillis
      },
      breaker: {
        failures: provider.breaker.failures,
        window_ms: provider.breaker.windowMillis,
        open_ms: provider.breaker.openMillis
      }
    })),
    models: models.map((model) => ({
      model_id: model.id,
      public_name: model.publicName,
      display_name: model.displayName,
      author: model.author,
      kind: model.kind,
      discovery_rank: model.discoveryRank,
      hidden: model.hidden,
      retired: model.retired,
      capabilities: model.capabilities,
      ...(model.maxOutputTokens === undefined ? {} : { max_output_tokens: model.maxOutputTokens }),
      ...(model.hostedTools?.length ? { hosted_tools: model.hostedTools } : {}),
      price_usd_micro_per_million_tokens: {
        input: exact(model.price.input),
        cache_read: exact(model.price.cacheRead),
        cache_write: exact(model.price.cacheWrite),
        output: exact(model.price.output)
      },
      routes: model.routes.map((route) => ({
        provider: route.provider,
        upstream_model: route.upstreamModel,
        priority: route.priority,
        weight: route.weight
      })),
      tiers: (tiersOf.get(model.publicName) ?? []).map((tier) => ({
        plan_tier_id: tier.id,
        tier_usd_cents: exact(tier.tierUsdCents),
        granted_tokens: exact(tier.grantedTokens),
        for_sale: tier.forSale
      }))
    }))
  }
}
