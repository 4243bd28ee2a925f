/**
 * Amounts in their smallest unit, written and read as decimals: `25000123` with six decimals is `25.000123`. Exact.
 */

/** Without zeros that say nothing. */
export const decimalText = (amount: bigint, decimals: number): string => {
  if (decimals === 0) return amount.toString()
  const digits = amount.toString().padStart(decimals + 1, "0")
  const fraction = digits.slice(-decimals).replace(/0+$/, "")
  return fraction === "" ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}

/** Nothing where the text is no such amount, or finer than its smallest unit. */
export const readDecimal = (text: string, decimals: number): bigint | undefined => {
  const [, whole, fraction = ""] = /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.replace(/0+$/, "").length > decimals) return undefined
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"))
}
