/**
 * Defines amounts in pico-USD, the unit of pay-as-you-go balances and of request costs. 1 micro-USD = 1,000,000
 * pico-USD.
 *
 * Prices are whole pico-USD per token, so every cost is a whole number of pico-USD. No amount is rounded before it is
 * shown.
 */
import * as Brand from "effect/Brand"

export type UsdPico = bigint & Brand.Brand<"UsdPico">
export const UsdPico = Brand.refined<UsdPico>(
  (n) => n >= 0n,
  (n) => Brand.error(`a pico-USD amount must not be negative, got ${n}`)
)

export const zero: UsdPico = UsdPico(0n)

const PICO_PER_MICRO = 1_000_000n
const MICRO_PER_USD = 1_000_000n

/**
 * Returns the exact amount in micro-USD as a decimal string without trailing zeros: `"0.5"`, `"1234.25"`, `"3"`. The
 * API returns it as `display_cost_usd_micro`.
 */
export const toExactUsdMicro = (amount: UsdPico): string => {
  const whole = amount / PICO_PER_MICRO
  const fraction = (amount % PICO_PER_MICRO).toString().padStart(6, "0").replace(/0+$/, "")
  return fraction === "" ? whole.toString() : `${whole}.${fraction}`
}

/**
 * Returns the amount in USD with six decimals, rounded down, so that a shown balance is never more than the real
 * balance. The API returns it as `payg.balance`.
 */
export const floorToUsd = (amount: UsdPico): string => {
  const micro = amount / PICO_PER_MICRO
  return `${micro / MICRO_PER_USD}.${(micro % MICRO_PER_USD).toString().padStart(6, "0")}`
}

/** Returns the amount in whole micro-USD as decimal digits, rounded down. */
export const floorToUsdMicro = (amount: UsdPico): string => (amount / PICO_PER_MICRO).toString()
