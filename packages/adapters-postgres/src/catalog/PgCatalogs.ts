/**
 * The catalog in Postgres. A file is applied whole, one at a time, and only what differs is written.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import type { TierTerms } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import type { Price } from "@tollgate/domain/ledger/Price"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CATALOG_CHANNEL } from "../client/PgNotifications.ts"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { difference, namesOf, type TermsOfModel } from "./CatalogDifference.ts"
import { readCatalog } from "./CatalogRows.ts"

export const layer: Layer.Layer<Catalogs, never, SqlClient.SqlClient> = Layer.effect(
  Catalogs,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      apply: (terms, operator) =>
        Effect.gen(function* () {
          // Whoever applies a catalog waits here for whoever does so already.
          yield* sql`SELECT version FROM catalog_state FOR UPDATE`
          const stored = yield* readCatalog
          const { providers, models } = difference(stored, terms)
          const names = namesOf({ providers, models })
          if (names.added.length + names.changed.length + names.retired.length === 0) {
            return { version: stored.version, ...names }
          }

          yield* Effect.forEach(providers.upserts, ({ terms }) => writeProvider(terms), { discard: true })
          yield* Effect.forEach(models.upserts, ({ terms, stored }) => writeModel(terms, stored?.id), { discard: true })
          for (const { id } of models.retirements) {
            yield* sql`UPDATE model SET retired = true WHERE id = ${id}`
            yield* sql`UPDATE tier SET for_sale = false WHERE model_id = ${id}`
          }
          for (const { name } of providers.retirements)
            yield* sql`UPDATE provider SET retired = true WHERE name = ${name}`

          const version = stored.version + 1
          yield* sql`UPDATE catalog_state SET version = ${version}`
          yield* AuditLog.record({
            operator,
            action: "catalog.apply",
            subject: "catalog",
            detail: { version, ...names }
          })
          yield* sql`SELECT pg_notify(${CATALOG_CHANNEL}, ${String(version)})`
          return { version, ...names }
        }).pipe(transact, withSql),

      load: Effect.gen(function* () {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
        const { providers, ...stored } = yield* readCatalog
        return {
          ...stored,
          providers: providers.flatMap(({ retired, ...provider }) => (retired ? [] : [provider]))
        }
      }).pipe(transact, withSql)
    }
  })
)

const writeProvider = (provider: Provider) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const row = sql.insert({
      name: provider.name,
      base_url: provider.baseUrl,
      api_key_env: provider.apiKeyEnv,
      auth: provider.auth,
      protocols: asArray(provider.protocols),
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

const writeModel = (model: TermsOfModel, knownId: string | undefined) =>
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
      capabilities: asArray(model.capabilities),
      retired: false,
      price_id: priceId
    })
    // A model and its price name each other; the database looks at the end of the transaction.
    yield* sql`INSERT INTO model ${row} ON CONFLICT (id) DO UPDATE SET
      display_name = excluded.display_name, author = excluded.author, kind = excluded.kind,
      discovery_rank = excluded.discovery_rank, hidden = excluded.hidden, capabilities = excluded.capabilities,
      retired = false, price_id = excluded.price_id`
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

/** A tier is known by its price; one that is no longer offered is kept for those who bought it. */
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

/** As Postgres writes an array of words. */
const asArray = (words: ReadonlyArray<string>): string => `{${words.join(",")}}`
