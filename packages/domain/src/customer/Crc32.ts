/**
 * CRC-32 (IEEE 802.3) of bytes, or of a text's UTF-8 bytes: the checksum inside an API key.
 */
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
