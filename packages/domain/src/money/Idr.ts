/**
 * Indonesian rupiah, whole. Converted to quota at the fixed rate of 10,000 IDR per USD
 * (docs/reference/reseller.md#top-2).
 */
import * as Brand from "effect/Brand"
import { UsdMicro } from "./UsdMicro.ts"

export type Idr = bigint & Brand.Brand<"Idr">
export const Idr = Brand.refined<Idr>(
  (n) => n >= 0n,
  (n) => Brand.error(`an amount of IDR is never negative, got ${n}`)
)

/** The quota this principal buys: 1 IDR = 100 micro-USD; exact. */
export const toQuotaUsdMicro = (principal: Idr): UsdMicro => UsdMicro(principal * 100n)

/** The QRIS processing fee: 5 % of the principal, rounded up to a whole rupiah. Never credited. */
export const ceilQrisFee = (principal: Idr): Idr => Idr((principal * 5n + 99n) / 100n)
