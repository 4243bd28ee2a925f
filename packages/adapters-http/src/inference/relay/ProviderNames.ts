/**
 * The words that would tell a client who serves a model: they are kept out of whatever a supplier's refusal says.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { ProviderNames } from "./RelayProtocol.ts"

/** Parts of host names that name nobody. */
const NOBODY: ReadonlySet<string> = new Set(["api", "www", "localhost"])

export const providerNames = (publicName: string, { provider, route }: Candidate): ProviderNames => {
  const { host, hostname } = new URL(provider.baseUrl)
  const labels = hostname.split(".")
  // The last label is the country or the kind; for addresses there is no name to hide.
  const named = /^[\d.:[\]]+$/.test(hostname) ? [] : labels.slice(0, Math.max(1, labels.length - 1))
  return {
    publicName,
    upstreamModel: route.upstreamModel,
    secretWords: [provider.name, host, ...named.filter((label) => label.length > 3 && !NOBODY.has(label))]
  }
}
