/**
 * A pay-as-you-go balance as commands show it: in USD with six decimals and in whole micro-USD, both rounded down.
 */
import { floorToUsd, floorToUsdMicro, type UsdPico } from "@tollgate/domain/money/UsdPico"

export const paygDocument = (balance: UsdPico) => ({
  currency: "USD",
  balance: floorToUsd(balance),
  balance_usd_micro: floorToUsdMicro(balance)
})

export const paygText = (balance: UsdPico): string => `${floorToUsd(balance)} USD`
