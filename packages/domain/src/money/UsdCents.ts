/**
 * Defines amounts in US cents, the unit of a tier's price in the price list.
 */
import * as Brand from "effect/Brand"
import { Idr } from "./Idr.ts"
import { UsdMicro } from "./UsdMicro.ts"

export type UsdCents = bigint & Brand.Brand<"UsdCents">
export const UsdCents = Brand.refined<UsdCents>(
  (n) => n > 0n && n <= 100_000_000n,
  (n) => Brand.error(`the price of a tier must be 1 to 100,000,000 cents, got ${n}`)
)

/** Returns the same amount in micro-USD, exactly: 1 cent is 10,000 micro-USD. */
export const toUsdMicro = (cents: UsdCents): UsdMicro => UsdMicro(cents * 10_000n)

/** Returns the exact top-up in IDR that buys a quota of this amount: 10,000 IDR per USD, without the QRIS fee. */
export const toTopupIdr = (cents: UsdCents): Idr => Idr(cents * 100n)
