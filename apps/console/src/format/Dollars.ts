/**
 * Reads amounts of US dollars that a user typed.
 */

/** Returns the micro-USD of a decimal number of dollars with a point or a comma, or undefined. */
export const usdMicroOf = (typed: string): bigint | undefined => {
  const [, whole, fraction = ""] = /^\$?\s*(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(typed.trim()) ?? []
  return whole === undefined ? undefined : BigInt(`${whole}${fraction.padEnd(6, "0")}`)
}

/** Returns the decimal number of dollars of an amount in micro-USD, to fill a field with it. */
export const dollarsOf = (micro: bigint | number): string => {
  const digits = micro.toString().padStart(7, "0")
  const fraction = digits.slice(-6).replace(/0+$/, "")
  return fraction === "" ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`
}
