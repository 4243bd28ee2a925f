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

/** One way to reach a model. Lower priorities are tried first; within one, weights share the load. */
export interface Route {
  readonly provider: ProviderName
  readonly upstreamModel: string
  readonly priority: number
  readonly weight: number
}

export type ImageCapability = "generate" | "edit"

/** A model as a catalog describes it, before it is stored. */
export interface ModelTerms {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  readonly kind: ModelKind
  readonly discoveryRank: number
  /** Not listed and not callable. */
  readonly hidden: boolean
  readonly capabilities: ReadonlyArray<ImageCapability>
  readonly price: Price
  readonly routes: ReadonlyArray<Route>
}

/** A tier as a catalog describes it: a number of tokens of one model for a price. */
export interface TierTerms {
  readonly tierUsdCents: UsdCents
  readonly grantedTokens: Tokens
  readonly forSale: boolean
}

/** A model as it is stored. Its id stays the same when its name leaves the catalog and returns. */
export interface Model extends ModelTerms {
  readonly id: ModelId
  readonly priceId: PriceId
  /** No longer in the catalog: the history is kept, the model cannot be called. */
  readonly retired: boolean
}
