/**
 * Defines amounts in micro-USD, the unit of reseller quota, mints and top-ups. 1 USD = 1,000,000 micro-USD
 * (docs/reference/reseller.md#res-5).
 */
import * as Brand from "effect/Brand"
import { UsdPico } from "./UsdPico.ts"

export type UsdMicro = bigint & Brand.Brand<"UsdMicro">
export const UsdMicro = Brand.refined<UsdMicro>(
  (n) => n >= 0n,
  (n) => Brand.error(`a micro-USD amount must not be negative, got ${n}`)
)

/** Returns the same amount in pico-USD, exactly. */
export const toUsdPico = (amount: UsdMicro): UsdPico => UsdPico(amount * 1_000_000n)
