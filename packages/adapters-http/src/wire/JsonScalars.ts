/**
 * Reads the JSON values that are neither strings nor containers: `true`, `false`, `null` and numbers.
 */

/** Maximum size in bytes of a member name and of each row of digits in a number. */
export const MAX_TOKEN_BYTES = 1024 * 1024

const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39

const words = [Buffer.from("true"), Buffer.from("false"), Buffer.from("null")]

/** Encodes the position of a syntax error as a negative number, and decodes this number. */
export const errorAt = (at: number): number => -1 - at

/** Returns the position after the value; {@link errorAt} of the position of a syntax error. */
export const scalarEnd = (bytes: Buffer, at: number): number => {
  for (const word of words) if (bytes[at] === word[0]) return wordEnd(bytes, at, word)
  return numberEnd(bytes, at)
}

const wordEnd = (bytes: Buffer, at: number, word: Buffer): number => {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return errorAt(at + i)
  return at + word.length
}

const numberEnd = (bytes: Buffer, at: number): number => {
  const whole = bytes[at] === MINUS ? at + 1 : at
  let i = bytes[whole] === ZERO ? whole + 1 : digitsEnd(bytes, whole)
  if (i < 0) return i
  if (bytes[i] === POINT) i = digitsEnd(bytes, i + 1)
  if (i < 0) return i
  if (bytes[i] !== 0x65 && bytes[i] !== 0x45) return i
  const isSigned = bytes[i + 1] === MINUS || bytes[i + 1] === PLUS
  return digitsEnd(bytes, isSigned ? i + 2 : i + 1)
}

const digitsEnd = (bytes: Buffer, at: number): number => {
  const end = Math.min(bytes.length, at + MAX_TOKEN_BYTES)
  let i = at
  while (i < end) {
    const byte = bytes[i] as number
    if (byte < ZERO || byte > NINE) break
    i++
  }
  return i === at ? errorAt(i) : i
}
