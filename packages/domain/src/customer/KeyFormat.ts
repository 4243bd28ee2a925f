/**
 * How an API key is written: numbers as base 62 letters and digits, and the CRC-32 checksum that detects a mistyped key.
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

/** CRC-32 (IEEE 802.3). */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc >>> 0
})

export const crc32 = (data: string | Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of typeof data === "string" ? new TextEncoder().encode(data) : data)
    crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}
