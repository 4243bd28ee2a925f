/**
 * Defines amounts in whole Indonesian rupiah. Rupiah are converted to quota at the fixed rate of 10,000 IDR per USD
 * (docs/reference/reseller.md#top-2).
 */
import * as Brand from "effect/Brand"
import { UsdMicro } from "./UsdMicro.ts"

export type Idr = bigint & Brand.Brand<"Idr">
export const Idr = Brand.refined<Idr>(
  (n) => n >= 0n,
  (n) => Brand.error(`an IDR amount must not be negative, got ${n}`)
)

/** Returns the exact quota that a payment without its fee buys: 1 IDR buys 100 micro-USD. */
export const toQuotaUsdMicro = (amountIdr: Idr): UsdMicro => UsdMicro(amountIdr * 100n)

/**
 * Returns the QRIS fee: 5 % of the amount, rounded up to a whole rupiah. The fee is paid in addition, and not
 * credited.
 */
export const ceilQrisFee = (amountIdr: Idr): Idr => Idr((amountIdr * 5n + 99n) / 100n)
