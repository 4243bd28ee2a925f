/**
 * Numbers in the 62 letters and digits, padded to a fixed width: text without signs that need escaping.
 */
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const digitOf = new Map([...DIGITS].map((digit, value) => [BigInt(value), digit]))

/** The lowest `width` digits of a number in base 62. */
export const fixedWidth = (value: bigint, width: number): string => {
  let rest = value
  let text = ""
  for (let i = 0; i < width; i++) {
    text = digitOf.get(rest % 62n) + text
    rest /= 62n
  }
  return text
}
