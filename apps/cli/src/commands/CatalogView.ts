/**
 * Formats the stored catalog as text tables.
 */
import type { StoredCatalog } from "@tollgate/application/catalog/Catalogs"
import type { Model } from "@tollgate/domain/catalog/Model"
import type { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { toUsdMicro } from "@tollgate/domain/money/UsdCents"
import { toUsdPico } from "@tollgate/domain/money/UsdMicro"
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import { table } from "../terminal/Table.ts"

export const catalogTables = ({ models, providers, tiers, version }: StoredCatalog): string => {
  if (models.length === 0 && providers.length === 0) {
    return "The catalog is empty. Apply one with: tollgate catalog apply FILE"
  }
  const routes = models.flatMap((model) => model.routes.map((route) => ({ ...route, model: model.publicName })))
  return [
    `The catalog, version ${version}`,
    table(
      [
        { heading: "model", cell: (model) => model.publicName },
        { heading: "name", cell: (model) => model.displayName },
        { heading: "author", cell: (model) => model.author },
        { heading: "kind", cell: (model) => [model.kind, ...model.capabilities].join(" ") },
        { heading: "rank", cell: (model) => String(model.discoveryRank), align: "right" },
        { heading: "max output", cell: ({ maxOutputTokens }) => maxOutputTokens?.toString() ?? "-", align: "right" },
        { heading: "state", cell: stateOf }
      ],
      models
    ),
    "Prices, in USD per million tokens:",
    table(
      [
        { heading: "model", cell: (model) => model.publicName },
        { heading: "input", cell: (model) => usdPerMillion(model.price.input), align: "right" },
        { heading: "cache read", cell: (model) => usdPerMillion(model.price.cacheRead), align: "right" },
        { heading: "cache write", cell: (model) => usdPerMillion(model.price.cacheWrite), align: "right" },
        { heading: "output", cell: (model) => usdPerMillion(model.price.output), align: "right" }
      ],
      models
    ),
    table(
      [
        { heading: "route of", cell: (route) => route.model },
        { heading: "priority", cell: (route) => String(route.priority), align: "right" },
        { heading: "weight", cell: (route) => String(route.weight), align: "right" },
        { heading: "provider", cell: (route) => route.provider },
        { heading: "upstream model", cell: (route) => route.upstreamModel }
      ],
      routes
    ),
    tiers.length === 0
      ? "No tiers."
      : table(
          [
            { heading: "tier of", cell: (tier) => tier.publicName },
            { heading: "usd", cell: (tier) => usdOfCents(tier.tierUsdCents), align: "right" },
            { heading: "tokens", cell: (tier) => tier.grantedTokens.toString(), align: "right" },
            { heading: "for sale", cell: (tier) => (tier.forSale ? "yes" : "no") },
            { heading: "tier id", cell: (tier) => tier.id }
          ],
          tiers
        ),
    table(
      [
        { heading: "provider", cell: (provider) => provider.name },
        { heading: "url", cell: (provider) => provider.baseUrl },
        { heading: "auth", cell: (provider) => `${provider.auth} from ${provider.apiKeyEnv}` },
        { heading: "protocols", cell: (provider) => provider.protocols.join(" ") },
        { heading: "max concurrency", cell: (provider) => String(provider.maxConcurrency), align: "right" }
      ],
      providers
    )
  ].join("\n\n")
}

const stateOf = (model: Model): string => (model.retired ? "retired" : model.hidden ? "hidden" : "listed")

/**
 * Returns a price in USD per million tokens. No digit is cut off, because every price is a whole number of micro-USD.
 */
const usdPerMillion = (price: PicoPerToken): string => floorToUsd(UsdPico(price * 1_000_000n))

const usdOfCents = (cents: Parameters<typeof toUsdMicro>[0]): string =>
  floorToUsd(toUsdPico(toUsdMicro(cents))).replace(/0{4}$/, "")
