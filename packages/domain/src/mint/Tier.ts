/**
 * A tier is a number of tokens of one model for a fixed price. A reseller mints a tier to a customer, and pays the
 * price from the reseller's quota (docs/reference/reseller.md#mint-1).
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
  /** True if the model is neither hidden nor retired. */
  readonly modelCallable: boolean
}

/**
 * The tier is unknown or not for sale, its model cannot be called, or the sum of all tokens that were ever added to the
 * plan would become too large.
 */
export class TierNotAvailable extends Schema.TaggedError<TierNotAvailable>()("TierNotAvailable", {}) {}

export const priceUsdMicroOf = (tier: Tier): UsdMicro => toUsdMicro(tier.tierUsdCents)

/** Returns the top-up in rupiah that pays for the tier, without the QRIS fee. */
export const topupIdrRequiredOf = (tier: Tier): Idr => toTopupIdr(tier.tierUsdCents)

/**
 * Returns whether the tier can be minted: it is for sale and its model can be called (docs/reference/reseller.md#e6).
 */
export const isAvailable = (tier: Tier): boolean => tier.forSale && tier.modelCallable

/** Returns the available tiers by ascending price, then by model name. */
export const priceList = (tiers: ReadonlyArray<Tier>): ReadonlyArray<Tier> =>
  tiers.filter(isAvailable).sort((a, b) => compare(a.tierUsdCents, b.tierUsdCents) || compare(a.modelName, b.modelName))

const compare = <T extends bigint | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)
