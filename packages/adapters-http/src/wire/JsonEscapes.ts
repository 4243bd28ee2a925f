/**
 * Decodes the escapes of JSON strings in bytes.
 */

export const BACKSLASH = 0x5c

const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) table[byte] = 1
  return table
}

/** 1 for each byte that can follow a backslash, except `u`. */
export const isEscapable = tableOf('"\\/bfnrt')

const NOT_HEX = 0xff
const hexValue = new Uint8Array(256).fill(NOT_HEX)
for (const digit of "0123456789abcdefABCDEF") hexValue[digit.charCodeAt(0)] = Number.parseInt(digit, 16)

const hexValueAt = (bytes: Buffer, at: number): number => hexValue[bytes[at] ?? 0] as number

/** Returns the code unit that four hexadecimal digits encode; -1 if one of the bytes is not a hexadecimal digit. */
export const codeUnitAt = (bytes: Buffer, at: number): number => {
  let codeUnit = 0
  for (let i = at; i < at + 4; i++) {
    const value = hexValueAt(bytes, i)
    if (value === NOT_HEX) return -1
    codeUnit = codeUnit * 16 + value
  }
  return codeUnit
}

/** Returns the position of the first byte that is not a hexadecimal digit. */
export const firstNotHex = (bytes: Buffer, at: number): number => {
  let i = at
  while (hexValueAt(bytes, i) !== NOT_HEX) i++
  return i
}

/**
 * Returns the number of bytes by which `\uXXXX` (six bytes) is longer than the character that it encodes. In UTF-8,
 * such a character has one to three bytes, and each half of a surrogate pair counts as two bytes.
 */
export const surplusOf = (codeUnit: number): number => {
  if (codeUnit < 0x80) return 5
  return codeUnit < 0x800 || (codeUnit >= 0xd800 && codeUnit < 0xe000) ? 4 : 3
}
