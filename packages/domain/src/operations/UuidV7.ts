/**
 * Creates UUIDs of version 7 (RFC 9562). They sort by creation time in milliseconds, so new rows are inserted near the
 * end of an index.
 */

export const RANDOM_BYTES_PER_UUID = 10

const HEX: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

const hex = (random: Uint8Array, at: number): string => HEX[random[at] as number] as string

/**
 * Returns the UUID for a time and {@link RANDOM_BYTES_PER_UUID} bytes of `random`, starting at `offset`. With an
 * offset, a caller can generate the random bytes of many UUIDs in one call.
 */
export const uuidV7 = (unixMillis: number, random: Uint8Array, offset = 0): string => {
  const time = unixMillis.toString(16).padStart(12, "0")
  const a = (HEX[0x70 | ((random[offset] as number) & 0x0f)] as string) + hex(random, offset + 1)
  const b = (HEX[0x80 | ((random[offset + 2] as number) & 0x3f)] as string) + hex(random, offset + 3)
  const c = hex(random, offset + 4) + hex(random, offset + 5) + hex(random, offset + 6)
  const d = hex(random, offset + 7) + hex(random, offset + 8) + hex(random, offset + 9)
  return `${time.slice(0, 8)}-${time.slice(8)}-${a}-${b}-${c}${d}`
}
