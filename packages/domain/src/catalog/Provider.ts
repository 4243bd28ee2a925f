/**
 * Defines how the gateway connects to a provider, which runs models, and the limits for the requests to this provider.
 *
 * `apiKeyEnv` is the name of the environment variable that contains the API key. The key itself is not stored.
 */
import * as Brand from "effect/Brand"
import type { BreakerSettings } from "../inference/Breaker.ts"
import type { Protocol } from "../inference/InferenceRequest.ts"

export type ProviderName = string & Brand.Brand<"ProviderName">
export const ProviderName = Brand.nominal<ProviderName>()

export interface ProviderTimeouts {
  readonly firstByteMillis: number
  readonly idleMillis: number
  readonly totalMillis: number
}

export interface Provider {
  readonly name: ProviderName
  readonly baseUrl: string
  readonly apiKeyEnv: string
  readonly auth: "bearer" | "x-api-key"
  readonly protocols: ReadonlyArray<Protocol>
  readonly maxConcurrency: number
  readonly timeouts: ProviderTimeouts
  readonly breaker: BreakerSettings
}
