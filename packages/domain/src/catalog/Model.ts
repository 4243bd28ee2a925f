/**
 * Defines a model, which customers call by its public name, and its routes to providers.
 */
import * as Brand from "effect/Brand"
import type { ModelKind } from "../inference/InferenceRequest.ts"
import type { Price } from "../ledger/Price.ts"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdCents } from "../money/UsdCents.ts"
import type { ProviderName } from "./Provider.ts"

export type ModelId = string & Brand.Brand<"ModelId">
export const ModelId = Brand.nominal<ModelId>()
export type PriceId = string & Brand.Brand<"PriceId">
export const PriceId = Brand.nominal<PriceId>()

/**
 * A way to call a model at one provider. The route with the lowest `priority` is tried first. Routes with equal
 * priority share the load by `weight`.
 */
export interface Route {
  readonly provider: ProviderName
  readonly upstreamModel: string
  readonly priority: number
  readonly weight: number
}

export type ImageCapability = "generate" | "edit"

/** A model as the catalog file describes it. */
export interface ModelTerms {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  readonly kind: ModelKind
  readonly discoveryRank: number
  /** If true, the model is neither listed nor callable. */
  readonly hidden: boolean
  readonly capabilities: ReadonlyArray<ImageCapability>
  /** The maximum number of output tokens that the model generates per choice; undefined if it is unknown. */
  readonly maxOutputTokens?: number | undefined
  /** The names of the hosted tools that requests may contain. Their calls are not charged. Undefined means none. */
  readonly hostedTools?: ReadonlyArray<string> | undefined
  readonly price: Price
  readonly routes: ReadonlyArray<Route>
}

/** A tier as the catalog file describes it: a number of tokens of one model for a price. */
export interface TierTerms {
  readonly tierUsdCents: UsdCents
  readonly grantedTokens: Tokens
  readonly forSale: boolean
}

/** A stored model. If an operator removes the model from the catalog and adds it again, its id stays the same. */
export interface Model extends ModelTerms {
  readonly id: ModelId
  readonly priceId: PriceId
  /** True if the model was removed from the catalog file. Its history is kept, but it cannot be called. */
  readonly retired: boolean
}
