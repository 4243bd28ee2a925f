/**
 * What a catalog file changes about the stored catalog. What stays as it is, is not written again.
 */
import { isDeepStrictEqual } from "node:util"
import type { StoredTier } from "@tollgate/application/catalog/Catalogs"
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import type { Model, ModelTerms, Route, TierTerms } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import type { StoredProvider, WholeCatalog } from "./CatalogRows.ts"

export type TermsOfModel = CatalogTerms["models"][number]

export interface Upsert<Terms, Stored> {
  readonly terms: Terms
  /** What is stored under this name, be it retired. */
  readonly stored: Stored | undefined
}

interface Changes<Terms, Stored> {
  /** New, changed, or back from retirement. */
  readonly upserts: ReadonlyArray<Upsert<Terms, Stored>>
  /** In use until now and no longer in the file. */
  readonly retirements: ReadonlyArray<Stored>
}

export interface CatalogDifference {
  readonly providers: Changes<Provider, StoredProvider>
  readonly models: Changes<TermsOfModel, Model>
}

export const difference = (stored: WholeCatalog, terms: CatalogTerms): CatalogDifference => ({
  providers: changes<Provider, StoredProvider>(terms.providers, stored.providers, ({ name }) => name, sameProvider),
  models: changes<TermsOfModel, Model>(
    terms.models,
    stored.models,
    ({ publicName }) => publicName,
    (model, before) => sameModel(model, before, stored.tiers)
  )
})

/** For people: models under their public names, providers as `provider <name>`. */
export const namesOf = ({ providers, models }: CatalogDifference) => {
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
  // A tier that is not for sale is as good as one that is not in the file.
  const compared = tiers.filter(
    (tier) => tier.publicName === stored.publicName && (tier.forSale || inFile.has(tier.tierUsdCents))
  )
  return isDeepStrictEqual(comparable(terms, terms.tiers), comparable(stored, compared))
}

/** The order of routes, tiers and capabilities says nothing. */
const comparable = (model: ModelTerms, tiers: ReadonlyArray<TierTerms>) => [
  model.displayName,
  model.author,
  model.kind,
  model.discoveryRank,
  model.hidden,
  sorted(model.capabilities),
  model.price,
  sorted(model.routes.map(routeText)),
  sorted(tiers.map(({ tierUsdCents, grantedTokens, forSale }) => `${tierUsdCents} ${grantedTokens} ${forSale}`))
]

const routeText = (route: Route) => JSON.stringify([route.provider, route.upstreamModel, route.priority, route.weight])

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...texts].sort()
