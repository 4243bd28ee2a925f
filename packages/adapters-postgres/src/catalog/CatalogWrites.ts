/**
 * Writes the providers and models that a catalog file changes.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { TermsOfModel, Upsert } from "@tollgate/domain/catalog/CatalogDifference"
import type { Model } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import { arrayOf, jsonText, nextUuidV7 } from "../client/SqlValues.ts"

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

/**
 * Writes models with their prices, routes and tiers. The number of statements does not depend on the number of models,
 * because a catalog can have thousands of models, and the database can be on another machine.
 */
export const writeModels = (upserts: ReadonlyArray<Upsert<TermsOfModel, Model>>) =>
  Effect.gen(function* () {
    if (upserts.length === 0) return
    const sql = yield* SqlClient.SqlClient
    const models = yield* Effect.forEach(upserts, ({ terms, stored }) =>
      Effect.map(Effect.all([nextUuidV7, nextUuidV7]), ([newId, newPriceId]) => ({
        terms,
        id: stored?.id ?? newId,
        newPriceId
      }))
    )
    const rows = jsonText(models.map(modelRow))
    // A model and its price refer to each other. The database checks the foreign key of the model at the end of the
    // transaction. A model that returns to an earlier price uses the row of this price.
    yield* sql`
      INSERT INTO model (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities,
        max_output_tokens, hosted_tools, retired, price_id)
      SELECT given.id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities,
        max_output_tokens, hosted_tools, false, coalesce(price.id, new_price_id)
      FROM jsonb_to_recordset(${rows}::jsonb) AS given (id uuid, public_name text, display_name text, author text,
        kind text, discovery_rank int, hidden boolean, capabilities text[], max_output_tokens int, hosted_tools text[],
        new_price_id uuid, input bigint, cache_write bigint, cache_read bigint, output bigint)
      LEFT JOIN price ON price.model_id = given.id AND price.input = given.input
        AND price.cache_write = given.cache_write AND price.cache_read = given.cache_read
        AND price.output = given.output
      ON CONFLICT (id) DO UPDATE SET
        display_name = excluded.display_name, author = excluded.author, kind = excluded.kind,
        discovery_rank = excluded.discovery_rank, hidden = excluded.hidden, capabilities = excluded.capabilities,
        max_output_tokens = excluded.max_output_tokens, hosted_tools = excluded.hosted_tools, retired = false,
        price_id = excluded.price_id`
    yield* sql`
      INSERT INTO price (id, model_id, input, cache_write, cache_read, output)
      SELECT new_price_id, id, input, cache_write, cache_read, output
      FROM jsonb_to_recordset(${rows}::jsonb)
        AS given (id uuid, new_price_id uuid, input bigint, cache_write bigint, cache_read bigint, output bigint)
      ON CONFLICT (model_id, input, cache_write, cache_read, output) DO NOTHING`
    const ids = arrayOf(models.map(({ id }) => id))
    yield* sql`DELETE FROM route WHERE model_id = ANY (${ids}::uuid[])`
    const routes = models.flatMap(({ id, terms }) =>
      terms.routes.map(({ provider, upstreamModel, priority, weight }) => ({
        model_id: id,
        provider,
        upstream_model: upstreamModel,
        priority,
        weight
      }))
    )
    yield* sql`
      INSERT INTO route (model_id, provider, upstream_model, priority, weight)
      SELECT * FROM jsonb_to_recordset(${jsonText(routes)}::jsonb)
        AS given (model_id uuid, provider text, upstream_model text, priority int, weight int)`
    // Two tiers of a model never have the same price, so the price identifies a tier. A tier that is not for sale keeps
    // its row, because mints refer to it.
    yield* sql`UPDATE tier SET for_sale = false WHERE model_id = ANY (${ids}::uuid[])`
    const tiers = models.flatMap(({ id, terms }) => terms.tiers.map((tier) => ({ modelId: id, tier })))
    const tierRows = yield* Effect.forEach(tiers, ({ modelId, tier }) =>
      Effect.map(nextUuidV7, (id) => ({
        id,
        model_id: modelId,
        tier_usd_cents: tier.tierUsdCents,
        granted_tokens: tier.grantedTokens,
        for_sale: tier.forSale
      }))
    )
    yield* sql`
      INSERT INTO tier (id, model_id, tier_usd_cents, granted_tokens, for_sale)
      SELECT * FROM jsonb_to_recordset(${jsonText(tierRows)}::jsonb)
        AS given (id uuid, model_id uuid, tier_usd_cents bigint, granted_tokens bigint, for_sale boolean)
      ON CONFLICT (model_id, tier_usd_cents) DO UPDATE SET
        granted_tokens = excluded.granted_tokens, for_sale = excluded.for_sale`
  })

interface IdentifiedModel {
  readonly terms: TermsOfModel
  readonly id: string
  /** The id of the model's price row, unless the price is already stored. */
  readonly newPriceId: string
}

const modelRow = ({ terms, id, newPriceId }: IdentifiedModel) => ({
  id,
  public_name: terms.publicName,
  display_name: terms.displayName,
  author: terms.author,
  kind: terms.kind,
  discovery_rank: terms.discoveryRank,
  hidden: terms.hidden,
  capabilities: terms.capabilities,
  max_output_tokens: terms.maxOutputTokens,
  hosted_tools: terms.hostedTools ?? [],
  new_price_id: newPriceId,
  input: terms.price.input,
  cache_write: terms.price.cacheWrite,
  cache_read: terms.price.cacheRead,
  output: terms.price.output
})

/** Retires models. Their tiers are no longer for sale. */
export const retireModels = (models: ReadonlyArray<Model>) =>
  Effect.gen(function* () {
    if (models.length === 0) return
    const sql = yield* SqlClient.SqlClient
    const ids = arrayOf(models.map(({ id }) => id))
    yield* sql`UPDATE model SET retired = true WHERE id = ANY (${ids}::uuid[])`
    yield* sql`UPDATE tier SET for_sale = false WHERE model_id = ANY (${ids}::uuid[])`
  })
