/**
 * US cents: the unit of a tier's price on the price list.
 */
import * as Brand from "effect/Brand"
import { Idr } from "./Idr.ts"
import { UsdMicro } from "./UsdMicro.ts"

export type UsdCents = bigint & Brand.Brand<"UsdCents">
export const UsdCents = Brand.refined<UsdCents>(
  (n) => n > 0n && n <= 100_000_000n,
  (n) => Brand.error(`a tier costs 1 to 100,000,000 cents, got ${n}`)
)

/** 1 cent = 10,000 micro-USD; exact. */
export const toUsdMicro = (cents: UsdCents): UsdMicro => UsdMicro(cents * 10_000n)

/** The top-up in IDR that buys this quota at the fixed 10,000 IDR per USD, without the QRIS fee; exact. */
export const toTopupIdr = (cents: UsdCents): Idr => Idr(cents * 100n)
