/**
 * Compares a catalog file with the stored catalog. The comparison selects the entries to write when the file is
 * applied. It also lists the changes for the operator who applies or previews the file.
 *
 * An entry is a model or a provider. Models are compared by their public name, and providers by their name. When the
 * file is applied, each stored entry that is not in the file becomes retired, and each retired entry that is in the
 * file becomes active again.
 */
import type { CatalogTerms } from "./CatalogFile.ts"
import type { Model, ModelTerms, Route, TierTerms } from "./Model.ts"
import type { Provider } from "./Provider.ts"

export interface StoredProvider extends Provider {
  /** True if the provider was removed from the catalog file. */
  readonly retired: boolean
}

/** The stored catalog, including retired models and providers. */
export interface StoredEntries {
  readonly providers: ReadonlyArray<StoredProvider>
  readonly models: ReadonlyArray<Model>
  readonly tiers: ReadonlyArray<TierTerms & { readonly publicName: string }>
}

export type TermsOfModel = CatalogTerms["models"][number]

export interface Upsert<Terms, Stored> {
  readonly terms: Terms
  /** The stored entry with the same name, even if it is retired; undefined for a new name. */
  readonly stored: Stored | undefined
}

export interface Changes<Terms, Stored> {
  /** Entries to write: they are new, differ from the stored entry, or are stored as retired. */
  readonly upserts: ReadonlyArray<Upsert<Terms, Stored>>
  /** Stored entries to retire: they are active and missing from the file. */
  readonly retirements: ReadonlyArray<Stored>
}

/** A changed member of a model or a provider. The values are texts for the operator; "-" stands for a missing value. */
export interface MemberChange {
  /** The public name of a model, or `provider <name>`. */
  readonly name: string
  readonly member: string
  readonly before: string
  readonly after: string
}

export interface CatalogDifference {
  readonly providers: Changes<Provider, StoredProvider>
  readonly models: Changes<TermsOfModel, Model>
  /**
   * The names of the new entries and of the entries that become active again. In `added`, `changed` and `retired`, the
   * name is the public name of a model, or `provider <name>`.
   */
  readonly added: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
  readonly retired: ReadonlyArray<string>
  /** The members that differ in the changed entries. */
  readonly members: ReadonlyArray<MemberChange>
}

/** Returns the difference between the stored catalog and a catalog file. */
export const differenceOf = (stored: StoredEntries, terms: CatalogTerms): CatalogDifference => {
  const storedTiers = tiersByModel(stored.tiers)
  const providerMembers = (terms: Provider, before: StoredProvider) =>
    memberChanges(providerName(terms), membersOfProvider(before), membersOfProvider(terms))
  const modelMembers = (terms: TermsOfModel, before: Model) =>
    memberChanges(
      terms.publicName,
      membersOfModel(before, comparedTiers(terms, storedTiers.get(terms.publicName) ?? [])),
      membersOfModel(terms, terms.tiers)
    )
  const providers = changes<Provider, StoredProvider>(terms.providers, stored.providers, providerName, providerMembers)
  const models = changes<TermsOfModel, Model>(terms.models, stored.models, ({ publicName }) => publicName, modelMembers)
  const upserts = [
    ...models.upserts.map(({ terms, stored }) => ({ name: terms.publicName, stored })),
    ...providers.upserts.map(({ terms, stored }) => ({ name: providerName(terms), stored }))
  ]
  return {
    providers,
    models,
    added: upserts.filter(({ stored }) => stored?.retired !== false).map(({ name }) => name),
    changed: upserts.filter(({ stored }) => stored?.retired === false).map(({ name }) => name),
    retired: [...models.retirements.map(({ publicName }) => publicName), ...providers.retirements.map(providerName)],
    members: [
      ...models.upserts.flatMap(({ terms, stored }) => (stored?.retired === false ? modelMembers(terms, stored) : [])),
      ...providers.upserts.flatMap(({ terms, stored }) =>
        stored?.retired === false ? providerMembers(terms, stored) : []
      )
    ]
  }
}

const providerName = ({ name }: Provider): string => `provider ${name}`

const changes = <Terms, Stored extends { readonly retired: boolean }>(
  wanted: ReadonlyArray<Terms>,
  known: ReadonlyArray<Stored>,
  nameOf: (named: Terms | Stored) => string,
  membersChanged: (terms: Terms, stored: Stored) => ReadonlyArray<MemberChange>
): Changes<Terms, Stored> => {
  const byName = new Map(known.map((stored) => [nameOf(stored), stored]))
  const wantedNames = new Set(wanted.map(nameOf))
  return {
    upserts: wanted
      .map((terms) => ({ terms, stored: byName.get(nameOf(terms)) }))
      .filter(
        ({ terms, stored }) => stored === undefined || stored.retired || membersChanged(terms, stored).length > 0
      ),
    retirements: known.filter((stored) => !stored.retired && !wantedNames.has(nameOf(stored)))
  }
}

/** The members of an entry as texts. */
type Members = ReadonlyArray<readonly [member: string, value: string]>

const memberChanges = (name: string, before: Members, after: Members): ReadonlyArray<MemberChange> => {
  const values = new Map(before)
  return after.flatMap(([member, value]) => {
    const old = values.get(member) ?? ""
    return old === value ? [] : [{ name, member, before: old, after: value }]
  })
}

const membersOfProvider = (provider: Provider): Members => [
  ["base_url", provider.baseUrl],
  ["api_key_env", provider.apiKeyEnv],
  ["auth", provider.auth],
  ["protocols", listed(provider.protocols)],
  ["max_concurrency", `${provider.maxConcurrency}`],
  ["timeouts.first_byte_ms", `${provider.timeouts.firstByteMillis}`],
  ["timeouts.idle_ms", `${provider.timeouts.idleMillis}`],
  ["timeouts.total_ms", `${provider.timeouts.totalMillis}`],
  ["breaker.failures", `${provider.breaker.failures}`],
  ["breaker.window_ms", `${provider.breaker.windowMillis}`],
  ["breaker.open_ms", `${provider.breaker.openMillis}`]
]

const membersOfModel = (model: ModelTerms, tiers: ReadonlyArray<TierTerms>): Members => [
  ["display_name", model.displayName],
  ["author", model.author],
  ["kind", model.kind],
  ["discovery_rank", `${model.discoveryRank}`],
  ["hidden", `${model.hidden}`],
  ["capabilities", listed(model.capabilities)],
  ["max_output_tokens", `${model.maxOutputTokens ?? "-"}`],
  ["hosted_tools", listed(model.hostedTools ?? [])],
  ["price.input", `${model.price.input}`],
  ["price.cache_read", `${model.price.cacheRead}`],
  ["price.cache_write", `${model.price.cacheWrite}`],
  ["price.output", `${model.price.output}`],
  ["routes", listed(model.routes.map(routeText))],
  ["tiers", listed(tiers.map(tierText))]
]

/** Returns the tiers by the public names of their models. */
export const tiersByModel = <Tier extends { readonly publicName: string }>(
  tiers: ReadonlyArray<Tier>
): ReadonlyMap<string, ReadonlyArray<Tier>> => {
  const byModel = new Map<string, Array<Tier>>()
  for (const tier of tiers) {
    const known = byModel.get(tier.publicName)
    if (known === undefined) byModel.set(tier.publicName, [tier])
    else known.push(tier)
  }
  return byModel
}

/**
 * Returns the stored tiers of a model that are compared: a tier that is neither for sale nor in the file is ignored.
 */
const comparedTiers = (terms: TermsOfModel, stored: ReadonlyArray<TierTerms>): ReadonlyArray<TierTerms> => {
  const inFile = new Set(terms.tiers.map(({ tierUsdCents }) => tierUsdCents))
  return stored.filter((tier) => tier.forSale || inFile.has(tier.tierUsdCents))
}

/** Returns every field of a route as JSON, so that two different routes never have the same text. */
const routeText = ({ priority, provider, upstreamModel, weight }: Route): string =>
  JSON.stringify([provider, upstreamModel, priority, weight])

const tierText = ({ forSale, grantedTokens, tierUsdCents }: TierTerms): string =>
  `${tierUsdCents} cents for ${grantedTokens} tokens${forSale ? "" : " (not for sale)"}`

/** Joins texts. The order of a list in a catalog file has no meaning, so the texts are sorted. */
const listed = (texts: ReadonlyArray<string>): string => (texts.length === 0 ? "-" : [...texts].sort().join(", "))
