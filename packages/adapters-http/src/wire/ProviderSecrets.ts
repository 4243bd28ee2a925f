/**
 * Finds the texts that no error text for a client may contain: the names, the parts of the base URLs, and the API keys
 * of all providers in the catalog (docs/reference/inference.md#f15). A provider can forward a request to another
 * provider of the catalog, and the error text can then name that other provider.
 *
 * Names and parts of base URLs are collected once for each version of the catalog, when the first error text is
 * redacted. They are collected again for each error of a provider that this version removed or replaced.
 */
import type { Upstreams } from "@tollgate/application/inference/Upstreams"
import type { Candidate, Catalog } from "@tollgate/domain/catalog/Catalog"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import type * as Context from "effect/Context"
import type { ProviderNames } from "./Redaction.ts"

/** The parts of host names that identify no provider. */
const GENERIC_LABELS: ReadonlySet<string> = new Set(["api", "www", "localhost"])
/** The minimum length of a part of a URL's path that can identify an account. */
const ACCOUNT_CHARACTERS = 12

type Words = ReadonlyArray<string>

const wordsOfCatalogs = new WeakMap<Catalog, Words>()

export class ProviderSecrets {
  readonly #catalog: () => Catalog
  readonly #upstreams: Pick<Context.Tag.Service<Upstreams>, "containsApiKey">

  constructor(catalog: () => Catalog, upstreams: Pick<Context.Tag.Service<Upstreams>, "containsApiKey">) {
    this.#catalog = catalog
    this.#upstreams = upstreams
  }

  /** Returns the public name of the model, and the names and words that an error text must not contain. */
  namesFor(publicName: string, { provider, route }: Candidate): ProviderNames {
    const catalog = this.#catalog()
    // A new catalog can have removed or changed the provider while the request was running.
    const isReplaced = catalog.providers.get(provider.name) !== provider
    const providers = isReplaced ? [...catalog.providers.values(), provider] : [...catalog.providers.values()]
    return {
      publicName,
      upstreamModel: route.upstreamModel,
      secretWords: isReplaced ? wordsOf(providers) : wordsOfCatalog(catalog, providers),
      containsApiKey: (text) => this.#upstreams.containsApiKey(text, providers)
    }
  }
}

const wordsOfCatalog = (catalog: Catalog, providers: ReadonlyArray<Provider>): Words => {
  const known = wordsOfCatalogs.get(catalog)
  if (known !== undefined) return known
  const words = wordsOf(providers)
  wordsOfCatalogs.set(catalog, words)
  return words
}

const wordsOf = (providers: ReadonlyArray<Provider>): Words => [...new Set(providers.flatMap(identifyingWords))]

/** Returns the words that identify a provider: its name, and parts of its base URL. */
export const identifyingWords = ({ name, baseUrl }: Provider): Words => {
  if (!URL.canParse(baseUrl)) return [name]
  const { host, hostname, pathname } = new URL(baseUrl)
  const labels = hostname.split(".")
  // The last label is a top-level domain, which identifies no provider. An IP address contains no name.
  const named = /^[\d.:[\]]+$/.test(hostname) ? [] : labels.slice(0, Math.max(1, labels.length - 1))
  return [
    name,
    host,
    ...named.filter((label) => label.length > 3 && !GENERIC_LABELS.has(label)),
    ...pathname.split("/").filter((part) => part.length >= ACCOUNT_CHARACTERS)
  ]
}
