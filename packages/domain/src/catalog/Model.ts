/**
 * A model that customers call by its public name, and its routes to providers.
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

/** A route to a model at one provider. Lower priorities are tried first; within one priority, the weights share the load. */
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
  /** Whether the model is neither listed nor callable. */
  readonly hidden: boolean
  readonly capabilities: ReadonlyArray<ImageCapability>
  readonly price: Price
  readonly routes: ReadonlyArray<Route>
}

/** A tier as the catalog file describes it: a number of tokens of one model for a price. */
export interface TierTerms {
  readonly tierUsdCents: UsdCents
  readonly grantedTokens: Tokens
  readonly forSale: boolean
}

/** A stored model. The id stays the same when the model's name is removed from the catalog and added again. */
export interface Model extends ModelTerms {
  readonly id: ModelId
  readonly priceId: PriceId
  /** Whether the model was removed from the catalog: its history is kept, but it cannot be called. */
  readonly retired: boolean
}
