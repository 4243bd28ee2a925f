/**
 * Defines amounts in the smallest unit of a dollar token with 18 decimals (USDT or USDC on BNB Smart Chain). One token
 * is 10^18 units. One micro-USD is 10^12 units.
 */
import * as Brand from "effect/Brand"
import { UsdMicro } from "./UsdMicro.ts"

export type TokenRaw = bigint & Brand.Brand<"TokenRaw">
export const TokenRaw = Brand.refined<TokenRaw>(
  (n) => n >= 0n,
  (n) => Brand.error(`a raw token amount must not be negative, got ${n}`)
)

const RAW_PER_MICRO = 10n ** 12n

/** Returns the exact raw amount that pays for a quota of this amount. */
export const tokenRawOf = (amount: UsdMicro): TokenRaw => TokenRaw(amount * RAW_PER_MICRO)

/** Returns a raw amount in whole micro-USD, rounded down. */
export const floorToUsdMicro = (amount: TokenRaw): UsdMicro => UsdMicro(amount / RAW_PER_MICRO)
