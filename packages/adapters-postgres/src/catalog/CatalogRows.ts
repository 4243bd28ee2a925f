/**
 * Reads the whole catalog from its tables.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { StoredCatalog, StoredTier } from "@tollgate/application/catalog/Catalogs"
import type { StoredProvider } from "@tollgate/domain/catalog/CatalogDifference"
import { type ImageCapability, type Model, ModelId, PriceId, type Route } from "@tollgate/domain/catalog/Model"
import { ProviderName } from "@tollgate/domain/catalog/Provider"
import type { ModelKind, Protocol } from "@tollgate/domain/inference/InferenceRequest"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import * as Effect from "effect/Effect"

interface ProviderRow {
  readonly name: string
  readonly base_url: string
  readonly api_key_env: string
  readonly auth: "bearer" | "x-api-key"
  readonly protocols: ReadonlyArray<Protocol>
  readonly max_concurrency: number
  readonly first_byte_millis: number
  readonly idle_millis: number
  readonly total_millis: number
  readonly breaker_failures: number
  readonly breaker_window_millis: number
  readonly breaker_open_millis: number
  readonly retired: boolean
}

interface ModelRow {
  readonly id: string
  readonly public_name: string
  readonly display_name: string
  readonly author: string
  readonly kind: ModelKind
  readonly discovery_rank: number
  readonly hidden: boolean
  readonly capabilities: ReadonlyArray<ImageCapability>
  readonly max_output_tokens: number | null
  readonly hosted_tools: ReadonlyArray<string>
  readonly retired: boolean
  readonly price_id: string
  readonly input: bigint
  readonly cache_write: bigint
  readonly cache_read: bigint
  readonly output: bigint
}

interface RouteRow {
  readonly model_id: string
  readonly provider: string
  readonly upstream_model: string
  readonly priority: number
  readonly weight: number
}

interface TierRow {
  readonly id: string
  readonly public_name: string
  readonly tier_usd_cents: bigint
  readonly granted_tokens: bigint
  readonly for_sale: boolean
}

/**
 * The stored catalog, including its retired providers. A catalog file can reactivate a retired provider, so the retired
 * providers are needed to compare the file with the stored catalog.
 */
export interface WholeCatalog extends StoredCatalog {
  readonly providers: ReadonlyArray<StoredProvider>
}

/**
 * Reads the catalog with several statements. The caller's transaction must ensure that all statements read the same
 * state, through a lock or through its isolation level.
 */
export const readCatalog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [state] = yield* sql<{ version: number }>`SELECT version::int FROM catalog_state`
  const providers = yield* sql<ProviderRow>`SELECT * FROM provider ORDER BY name COLLATE "C"`
  const models = yield* sql<ModelRow>`
    SELECT m.id, m.public_name, m.display_name, m.author, m.kind, m.discovery_rank, m.hidden, m.capabilities,
      m.max_output_tokens, m.hosted_tools, m.retired, m.price_id, p.input, p.cache_write, p.cache_read, p.output
    FROM model m JOIN price p ON p.id = m.price_id ORDER BY m.public_name COLLATE "C"`
  const routes = yield* sql<RouteRow>`
    SELECT * FROM route ORDER BY priority, provider COLLATE "C", upstream_model COLLATE "C"`
  const tiers = yield* sql<TierRow>`
    SELECT t.id, m.public_name, t.tier_usd_cents, t.granted_tokens, t.for_sale
    FROM tier t JOIN model m ON m.id = t.model_id ORDER BY t.tier_usd_cents, m.public_name COLLATE "C"`

  const routesOf = new Map<string, Array<Route>>()
  for (const row of routes) {
    const known = routesOf.get(row.model_id)
    if (known === undefined) routesOf.set(row.model_id, [toRoute(row)])
    else known.push(toRoute(row))
  }
  const whole: WholeCatalog = {
    version: state?.version ?? 0,
    providers: providers.map(toProvider),
    models: models.map((row) => toModel(row, routesOf.get(row.id) ?? [])),
    tiers: tiers.map(toTier)
  }
  return whole
})

const toProvider = (row: ProviderRow): StoredProvider => ({
  name: ProviderName(row.name),
  baseUrl: row.base_url,
  apiKeyEnv: row.api_key_env,
  auth: row.auth,
  protocols: row.protocols,
  maxConcurrency: row.max_concurrency,
  timeouts: { firstByteMillis: row.first_byte_millis, idleMillis: row.idle_millis, totalMillis: row.total_millis },
  breaker: {
    failures: row.breaker_failures,
    windowMillis: row.breaker_window_millis,
    openMillis: row.breaker_open_millis
  },
  retired: row.retired
})

const toModel = (row: ModelRow, routes: ReadonlyArray<Route>): Model => ({
  id: ModelId(row.id),
  publicName: row.public_name,
  displayName: row.display_name,
  author: row.author,
  kind: row.kind,
  discoveryRank: row.discovery_rank,
  hidden: row.hidden,
  capabilities: row.capabilities,
  maxOutputTokens: row.max_output_tokens ?? undefined,
  hostedTools: row.hosted_tools,
  retired: row.retired,
  priceId: PriceId(row.price_id),
  price: {
    input: PicoPerToken(row.input),
    cacheWrite: PicoPerToken(row.cache_write),
    cacheRead: PicoPerToken(row.cache_read),
    output: PicoPerToken(row.output)
  },
  routes
})

const toRoute = (row: RouteRow): Route => ({
  provider: ProviderName(row.provider),
  upstreamModel: row.upstream_model,
  priority: row.priority,
  weight: row.weight
})

const toTier = (row: TierRow): StoredTier => ({
  id: row.id,
  publicName: row.public_name,
  tierUsdCents: UsdCents(row.tier_usd_cents),
  grantedTokens: Tokens(row.granted_tokens),
  forSale: row.for_sale
})
