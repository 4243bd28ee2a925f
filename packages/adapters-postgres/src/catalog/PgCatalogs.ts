/**
 * Stores the catalog in Postgres. A catalog file is applied in one transaction, and only one file is applied at a time.
 * The transaction writes only the models and providers that differ from the stored ones.
 */
import { isDeepStrictEqual } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import { Catalogs, type StoredTier } from "@tollgate/application/catalog/Catalogs"
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import type { Model, ModelTerms, Route, TierTerms } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CATALOG_CHANNEL } from "../client/PgNotifications.ts"
import { transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import {
  readCatalog,
  type StoredProvider,
  type TermsOfModel,
  type WholeCatalog,
  writeModel,
  writeProvider
} from "./CatalogRows.ts"

export const layer: Layer.Layer<Catalogs, never, SqlClient.SqlClient> = Layer.effect(
  Catalogs,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      apply: (terms, operator) =>
        Effect.gen(function* () {
          // The row lock makes concurrent catalog applications run one after the other.
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

interface Upsert<Terms, Stored> {
  readonly terms: Terms
  /** The stored entry with the same name, even if it is retired; undefined for a new name. */
  readonly stored: Stored | undefined
}

interface Changes<Terms, Stored> {
  /** Entries to write: they are new, differ from the stored entry, or are stored as retired. */
  readonly upserts: ReadonlyArray<Upsert<Terms, Stored>>
  /** Stored entries to retire: they are active and missing from the file. */
  readonly retirements: ReadonlyArray<Stored>
}

interface CatalogDifference {
  readonly providers: Changes<Provider, StoredProvider>
  readonly models: Changes<TermsOfModel, Model>
}

const difference = (stored: WholeCatalog, terms: CatalogTerms): CatalogDifference => ({
  providers: changes<Provider, StoredProvider>(terms.providers, stored.providers, ({ name }) => name, sameProvider),
  models: changes<TermsOfModel, Model>(
    terms.models,
    stored.models,
    ({ publicName }) => publicName,
    (model, before) => sameModel(model, before, stored.tiers)
  )
})

/** Returns the names shown to the operator: public names of models, and `provider <name>` for providers. */
const namesOf = ({ providers, models }: CatalogDifference) => {
  const upserts = [
    ...models.upserts.map(({ terms, stored }) => ({ name: terms.publicName, stored })),
    ...providers.upserts.map(({ terms, stored }) => ({ name: `provider ${terms.name}`, stored }))
  ]
  return {
    added: upserts.filter(({ stored }) => stored?.retired !== false).map(({ name }) => name),
    changed: upserts.filter(({ stored }) => stored?.retired === false).map(({ name }) => name),
    retired: [
      ...models.retirements.map(({ publicName }) => publicName),
      ...providers.retirements.map(({ name }) => `provider ${name}`)
    ]
  }
}

const changes = <Terms, Stored extends { readonly retired: boolean }>(
  wanted: ReadonlyArray<Terms>,
  known: ReadonlyArray<Stored>,
  nameOf: (named: Terms | Stored) => string,
  same: (terms: Terms, stored: Stored) => boolean
): Changes<Terms, Stored> => {
  const byName = new Map(known.map((stored) => [nameOf(stored), stored]))
  const wantedNames = new Set(wanted.map(nameOf))
  return {
    upserts: wanted
      .map((terms) => ({ terms, stored: byName.get(nameOf(terms)) }))
      .filter(({ terms, stored }) => stored === undefined || stored.retired || !same(terms, stored)),
    retirements: known.filter((stored) => !stored.retired && !wantedNames.has(nameOf(stored)))
  }
}

const sameProvider = (terms: Provider, { retired, ...stored }: StoredProvider): boolean =>
  isDeepStrictEqual(
    { ...terms, protocols: sorted(terms.protocols) },
    { ...stored, protocols: sorted(stored.protocols) }
  )

const sameModel = (terms: TermsOfModel, stored: Model, tiers: ReadonlyArray<StoredTier>): boolean => {
  const inFile = new Set(terms.tiers.map(({ tierUsdCents }) => tierUsdCents))
  // Ignores stored tiers that are neither for sale nor in the file.
  const compared = tiers.filter(
    (tier) => tier.publicName === stored.publicName && (tier.forSale || inFile.has(tier.tierUsdCents))
  )
  return isDeepStrictEqual(comparable(terms, terms.tiers), comparable(stored, compared))
}

/** Returns the compared fields of a model. The order of routes, tiers and capabilities is ignored. */
const comparable = (model: ModelTerms, tiers: ReadonlyArray<TierTerms>) => [
  model.displayName,
  model.author,
  model.kind,
  model.discoveryRank,
  model.hidden,
  sorted(model.capabilities),
  model.maxOutputTokens,
  model.price,
  sorted(model.routes.map(routeText)),
  sorted(tiers.map(({ tierUsdCents, grantedTokens, forSale }) => `${tierUsdCents} ${grantedTokens} ${forSale}`))
]

const routeText = (route: Route) => JSON.stringify([route.provider, route.upstreamModel, route.priority, route.weight])

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...texts].sort()
