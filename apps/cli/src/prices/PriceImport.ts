/**
 * Replaces the prices in a catalog file by the prices of a price list. A text model without `max_output_tokens` also
 * gets this member from the list. Every other member of the file is unchanged.
 *
 * A model gets the price of one of its routes: of the routes that the price list contains, the route with the lowest
 * priority number. If the list lacks the prices of cached tokens, cached tokens get the price of other input tokens.
 */
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import { count } from "../terminal/Output.ts"
import type { ListedModel, PriceList } from "./PriceList.ts"

export interface ImportOptions {
  readonly prices: PriceList
  /** The percentage that is added to each price. */
  readonly marginPercent: number
  /**
   * The name of a provider in the price list, by its name in the catalog file. Contains only the providers whose two
   * names differ.
   */
  readonly namesInList: ReadonlyMap<string, string>
}

export interface PriceChange {
  readonly model: string
  readonly member: string
  readonly before: string
  readonly after: string
}

export interface ImportedPrices {
  /** The catalog file with the new prices. */
  readonly file: object
  readonly changes: ReadonlyArray<PriceChange>
  /** The models whose routes the price list does not contain. */
  readonly unlisted: ReadonlyArray<string>
}

interface ModelInFile {
  readonly public_name: string
  readonly max_output_tokens?: number
  readonly price_usd_micro_per_million_tokens: Readonly<Record<string, number>>
}

/** Returns the file with the prices of the list. `terms` is the parsed form of `file`. */
export const importPrices = (
  file: { readonly models: ReadonlyArray<ModelInFile> },
  terms: CatalogTerms,
  { marginPercent, namesInList, prices }: ImportOptions
): ImportedPrices => {
  const changes: Array<PriceChange> = []
  const unlisted: Array<string> = []
  const termsOf = new Map(terms.models.map((model) => [model.publicName, model]))
  const models = file.models.map((model) => {
    const name = model.public_name
    const routes = [...(termsOf.get(name)?.routes ?? [])].sort((a, b) => a.priority - b.priority)
    const listed = routes
      .map(({ provider, upstreamModel }) => prices.find(namesInList.get(provider) ?? provider, upstreamModel))
      .find((found) => found !== undefined)
    if (listed === undefined) {
      if (termsOf.has(name)) unlisted.push(name)
      return model
    }
    const before = model.price_usd_micro_per_million_tokens
    const after = withMargin(listed, before, marginPercent)
    for (const [member, price] of Object.entries(after)) {
      if (before[member] === price) continue
      changes.push({ model: name, member: `price.${member}`, before: `${before[member]}`, after: `${price}` })
    }
    const { maxOutputTokens } = listed
    const isNewLimit =
      maxOutputTokens !== undefined && termsOf.get(name)?.kind === "text" && model.max_output_tokens === undefined
    if (isNewLimit) changes.push({ model: name, member: "max_output_tokens", before: "-", after: `${maxOutputTokens}` })
    return {
      ...model,
      ...(isNewLimit ? { max_output_tokens: maxOutputTokens } : {}),
      price_usd_micro_per_million_tokens: after
    }
  })
  return { file: { ...file, models }, changes, unlisted }
}

/**
 * Returns the new prices of a model. A price that the list lacks is unchanged, except that the prices of cached tokens
 * follow the listed price of input tokens.
 */
const withMargin = (
  listed: ListedModel,
  before: Readonly<Record<string, number>>,
  marginPercent: number
): Readonly<Record<string, number>> => {
  const sold = (price: bigint | undefined, otherwise: number | undefined): number | undefined =>
    price === undefined ? otherwise : count((price * BigInt(100 + marginPercent) + 99n) / 100n)
  return {
    ...before,
    ...defined({
      input: sold(listed.input, before.input),
      cache_read: sold(listed.cacheRead ?? listed.input, before.cache_read),
      cache_write: sold(listed.cacheWrite ?? listed.input, before.cache_write),
      output: sold(listed.output, before.output)
    })
  }
}

const defined = (prices: Readonly<Record<string, number | undefined>>): Record<string, number> =>
  Object.fromEntries(Object.entries(prices).filter((entry): entry is [string, number] => entry[1] !== undefined))
