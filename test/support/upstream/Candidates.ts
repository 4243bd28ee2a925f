/**
 * Creates providers, routes and candidates for tests, as a catalog defines them.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Route } from "@tollgate/domain/catalog/Model"
import { type Provider, ProviderName } from "@tollgate/domain/catalog/Provider"

export const aProvider = (parts: Partial<Provider> = {}): Provider => ({
  name: ProviderName("provider"),
  baseUrl: "http://127.0.0.1:9/v1",
  apiKeyEnv: "PROVIDER_KEY",
  auth: "bearer",
  protocols: ["chat"],
  maxConcurrency: 16,
  timeouts: { firstByteMillis: 5_000, idleMillis: 5_000, totalMillis: 30_000 },
  breaker: { failures: 3, windowMillis: 10_000, openMillis: 5_000 },
  ...parts
})

export const aRoute = (parts: Partial<Route> = {}): Route => ({
  provider: ProviderName("provider"),
  upstreamModel: "upstream-model",
  priority: 1,
  weight: 1,
  ...parts
})

export const aCandidate = (provider: Partial<Provider> = {}, route: Partial<Route> = {}): Candidate => {
  const whole = aProvider(provider)
  return { provider: whole, route: aRoute({ provider: whole.name, ...route }) }
}
