/**
 * A model that customers call by its public name, and the suppliers it is routed to.
 */
import * as Brand from "effect/Brand"
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

/** What a catalog says of a model, whoever wrote it. */
export interface ModelTerms {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  readonly kind: "text" | "image"
  readonly discoveryRank: number
  /** Not listed and not callable. */
  readonly hidden: boolean
  readonly capabilities: ReadonlyArray<ImageCapability>
  readonly price: Price
  readonly routes: ReadonlyArray<Route>
}

/** What a reseller can mint: so many tokens of a model for so much. */
export interface TierTerms {
  readonly tierUsdCents: UsdCents
  readonly grantedTokens: Tokens
  readonly forSale: boolean
}

/** A model as it is stored: with an identity that outlives its name's absence from the catalog. */
export interface Model extends ModelTerms {
  readonly id: ModelId
  readonly priceId: PriceId
  /** No longer in the catalog: keeps its history, cannot be called. */
  readonly retired: boolean
}
