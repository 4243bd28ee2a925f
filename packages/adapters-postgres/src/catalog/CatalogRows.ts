/**
 * Reads and writes the catalog tables. The catalog is read as a whole and written one provider or model at a time.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { StoredCatalog, StoredTier } from "@tollgate/application/catalog/Catalogs"
import type { StoredProvider, TermsOfModel } from "@tollgate/domain/catalog/CatalogDifference"
import {
  type ImageCapability,
  type Model,
  ModelId,
  PriceId,
  type Route,
  type TierTerms
} from "@tollgate/domain/catalog/Model"
import { type Provider, ProviderName } from "@tollgate/domain/catalog/Provider"
import type { ModelKind, Protocol } from "@tollgate/domain/inference/InferenceRequest"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import * as Effect from "effect/Effect"
import { arrayOf, nextUuidV7 } from "../client/SqlValues.ts"

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

export const writeProvider = (provider: Provider) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const row = sql.insert({
      name: provider.name,
      base_url: provider.baseUrl,
      api_key_env: provider.apiKeyEnv,
      auth: provider.auth,
      protocols: arrayOf(provider.protocols),
      max_concurrency: provider.maxConcurrency,
      first_byte_millis: provider.timeouts.firstByteMillis,
      idle_millis: provider.timeouts.idleMillis,
      total_millis: provider.timeouts.totalMillis,
      breaker_failures: provider.breaker.failures,
      breaker_window_millis: provider.breaker.windowMillis,
      breaker_open_millis: provider.breaker.openMillis,
      retired: false
    })
    yield* sql`INSERT INTO provider ${row} ON CONFLICT (name) DO UPDATE SET
      base_url = excluded.base_url, api_key_env = excluded.api_key_env, auth = excluded.auth,
      protocols = excluded.protocols, max_concurrency = excluded.max_concurrency,
      first_byte_millis = excluded.first_byte_millis, idle_millis = excluded.idle_millis,
      total_millis = excluded.total_millis, breaker_failures = excluded.breaker_failures,
      breaker_window_millis = excluded.breaker_window_millis, breaker_open_millis = excluded.breaker_open_millis,
      retired = false`
  })

export const writeModel = (model: TermsOfModel, knownId: string | undefined) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = knownId ?? (yield* nextUuidV7)
    const knownPrice = yield* findPrice(id, model.price)
    const priceId = knownPrice ?? (yield* nextUuidV7)
    const row = sql.insert({
      id,
      public_name: model.publicName,
      display_name: model.displayName,
      author: model.author,
      kind: model.kind,
      discovery_rank: model.discoveryRank,
      hidden: model.hidden,
      capabilities: arrayOf(model.capabilities),
      max_output_tokens: model.maxOutputTokens ?? null,
      hosted_tools: arrayOf(model.hostedTools ?? []),
      retired: false,
      price_id: priceId
    })
    // A model and its price refer to each other. The database checks the foreign key of the model at the end of the
    // transaction.
    yield* sql`INSERT INTO model ${row} ON CONFLICT (id) DO UPDATE SET
      display_name = excluded.display_name, author = excluded.author, kind = excluded.kind,
      discovery_rank = excluded.discovery_rank, hidden = excluded.hidden, capabilities = excluded.capabilities,
      max_output_tokens = excluded.max_output_tokens, hosted_tools = excluded.hosted_tools, retired = false, price_id = excluded.price_id`
    if (knownPrice === undefined) {
      const { input, cacheWrite, cacheRead, output } = model.price
      yield* sql`INSERT INTO price (id, model_id, input, cache_write, cache_read, output)
        VALUES (${priceId}, ${id}, ${input}, ${cacheWrite}, ${cacheRead}, ${output})`
    }
    yield* sql`DELETE FROM route WHERE model_id = ${id}`
    for (const { provider, upstreamModel, priority, weight } of model.routes) {
      yield* sql`INSERT INTO route (model_id, provider, upstream_model, priority, weight)
        VALUES (${id}, ${provider}, ${upstreamModel}, ${priority}, ${weight})`
    }
    yield* writeTiers(id, model.tiers)
  })

const findPrice = (modelId: string, { input, cacheWrite, cacheRead, output }: Price) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ id: string }>`SELECT id FROM price WHERE model_id = ${modelId} AND input = ${input}
      AND cache_write = ${cacheWrite} AND cache_read = ${cacheRead} AND output = ${output}`
    return row?.id
  })

/**
 * Writes the tiers of a model. Two tiers of a model never have the same price, so the price identifies a tier. A tier
 * that is not for sale keeps its row, because mints refer to it.
 */
const writeTiers = (modelId: string, tiers: ReadonlyArray<TierTerms>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE tier SET for_sale = false WHERE model_id = ${modelId}`
    for (const { tierUsdCents, grantedTokens, forSale } of tiers) {
      yield* sql`INSERT INTO tier (id, model_id, tier_usd_cents, granted_tokens, for_sale)
        VALUES (${yield* nextUuidV7}, ${modelId}, ${tierUsdCents}, ${grantedTokens}, ${forSale})
        ON CONFLICT (model_id, tier_usd_cents) DO UPDATE SET
          granted_tokens = excluded.granted_tokens, for_sale = excluded.for_sale`
    }
  })
