/**
 * Converts amounts of money between the types of the domain and the decimal numbers that providers write, without
 * floating-point numbers.
 */

import type { PaymentIntent } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import * as Effect from "effect/Effect"

/**
 * Parses whole rupiah of at most 18 digits, optionally with one or two zeros after a decimal point; returns `undefined`
 * for anything else.
 */
export const idrOf = (text: string): Idr | undefined => {
  const digits = /^(\d{1,18})(?:\.0{1,2})?$/.exec(text)?.[1]
  return digits === undefined ? undefined : Idr(BigInt(digits))
}

/**
 * Parses dollars; returns `undefined` if the text is not a whole number of micro-USD, or not below
 * {@link MICRO_USD_LIMIT}.
 */
export const usdMicroOf = (text: string): UsdMicro | undefined => {
  const read = microOf(text)
  return read === undefined || read.finer ? undefined : read.micro
}

/**
 * Parses dollars and rounds down to whole micro-USD; returns `undefined` if the text does not match {@link DECIMAL}, or
 * if the amount is not below {@link MICRO_USD_LIMIT}.
 */
export const floorUsdMicroOf = (text: string): UsdMicro | undefined => microOf(text)?.micro

/** Writes micro-USD as dollars without trailing zeros: `25`, `25.5`, `25.000123`. */
export const usdDigits = (amount: UsdMicro): string => {
  const fraction = (amount % MICRO_PER_USD).toString().padStart(6, "0").replace(/0+$/, "")
  const whole = amount / MICRO_PER_USD
  return fraction === "" ? whole.toString() : `${whole}.${fraction}`
}

const MICRO_PER_USD = 1_000_000n
const MICRO_DIGITS = 6n

/** More than any amount of money. The database can store the sum of many amounts below this bound. */
const MICRO_USD_LIMIT = 10n ** 60n

/**
 * Matches a decimal number without a sign, of limited length. Allows an exponent, because some programs write small
 * numbers with one.
 */
const DECIMAL = /^(\d{1,30})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/

const microOf = (text: string): { readonly micro: UsdMicro; readonly finer: boolean } | undefined => {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, whole = "", fraction = "", exponent = "0"] = match
  const digits = BigInt(whole + fraction)
  const shift = MICRO_DIGITS + BigInt(exponent) - BigInt(fraction.length)
  const divisor = shift < 0n ? 10n ** -shift : 1n
  const micro = shift < 0n ? digits / divisor : digits * 10n ** shift
  return micro < MICRO_USD_LIMIT ? { micro: UsdMicro(micro), finer: digits % divisor !== 0n } : undefined
}

/**
 * Returns the amount due in rupiah. Dies if the payment is due in dollars, because such a payment is never sent to a
 * rupiah provider.
 */
export const rupiahOf = ({ due, method }: PaymentIntent): Effect.Effect<Idr> =>
  due._tag === "Rupiah"
    ? Effect.succeed(due.totalIdr)
    : Effect.dieMessage(`a payment by ${method} must be due in rupiah`)

export const dollarsOf = ({ due, method }: PaymentIntent): Effect.Effect<UsdMicro> =>
  due._tag === "Dollars"
    ? Effect.succeed(due.amountUsdMicro)
    : Effect.dieMessage(`a payment by ${method} must be due in dollars`)
