/**
 * A tier that a reseller can mint to a customer: a number of tokens of one model, for a price in quota
 * (docs/reference/reseller.md#mint-1).
 */
import * as Schema from "effect/Schema"
import type { ModelId, TierTerms } from "../catalog/Model.ts"
import type { Idr } from "../money/Idr.ts"
import { toTopupIdr, toUsdMicro } from "../money/UsdCents.ts"
import type { UsdMicro } from "../money/UsdMicro.ts"

export const TierId = Schema.UUID.pipe(Schema.brand("TierId"))
export type TierId = typeof TierId.Type

export interface Tier extends TierTerms {
  readonly id: TierId
  readonly modelId: ModelId
  readonly modelName: string
  /** The model is neither hidden nor retired. */
  readonly modelCallable: boolean
}

/** The tier is unknown, not for sale, or of a model that cannot be called. */
export class TierNotAvailable extends Schema.TaggedError<TierNotAvailable>()("TierNotAvailable", {}) {}

export const priceUsdMicroOf = (tier: Tier): UsdMicro => toUsdMicro(tier.tierUsdCents)

/** The top-up in rupiah that covers the tier, without the QRIS fee. */
export const topupIdrRequiredOf = (tier: Tier): Idr => toTopupIdr(tier.tierUsdCents)

/** A plan of a model that cannot be called is not sold (docs/reference/reseller.md#e6). */
export const isAvailable = (tier: Tier): boolean => tier.forSale && tier.modelCallable

/** The price list: price ascending, then model name ascending. */
export const priceList = (tiers: ReadonlyArray<Tier>): ReadonlyArray<Tier> =>
  tiers.filter(isAvailable).sort((a, b) => compare(a.tierUsdCents, b.tierUsdCents) || compare(a.modelName, b.modelName))

const compare = <T extends bigint | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)
