/**
 * Parses and formats amounts of money. Amounts in USD have six decimals. The JSON of a pay-as-you-go balance also
 * contains the balance in whole micro-USD. A pay-as-you-go balance is rounded down. Quota is not rounded, because it is
 * a whole number of micro-USD.
 */
import { toUsdPico, UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { floorToUsd, floorToUsdMicro, type UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Schema from "effect/Schema"
import { option } from "./SharedOptions.ts"

/** Returns an option for a positive amount in micro-USD. Rejects an amount above `max` as a likely typing error. */
export const usdMicroOption = (max: bigint) =>
  option(
    "usd-micro",
    "N",
    Schema.String.pipe(
      Schema.filter(
        (text) => /^[0-9]{1,30}$/.test(text) || "digits only: an amount in micro-USD, of which 1000000 are one USD"
      ),
      Schema.compose(Schema.BigInt),
      Schema.filter(
        (amount) => (amount > 0n && amount <= max) || `1 to ${max} micro-USD, of which 1000000 are one USD`
      ),
      Schema.fromBrand(UsdMicro)
    ),
    "Amount in micro-USD. 1000000 micro-USD are one USD."
  )

export const paygDocument = (balance: UsdPico) => ({
  currency: "USD",
  balance: floorToUsd(balance),
  balance_usd_micro: floorToUsdMicro(balance)
})

export const paygText = (balance: UsdPico): string => `${floorToUsd(balance)} USD`

export const quotaText = (amount: UsdMicro): string => `${floorToUsd(toUsdPico(amount))} USD`
