/**
 * Identifiers that sort by the time they were made (RFC 9562, version 7), so that new rows land at the end of an index.
 */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Out of a time and 10 random bytes. */
export const uuidV7 = (unixMillis: number, random: Uint8Array): string => {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(unixMillis, 0, 6)
  bytes.set(random.subarray(0, 10), 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export const nextUuidV7: Effect.Effect<string> = Effect.map(Clock.currentTimeMillis, (now) =>
  uuidV7(now, randomBytes(10))
)
