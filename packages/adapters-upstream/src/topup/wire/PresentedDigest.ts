/**
 * Whether somebody presented the digest we computed, told in the same time whatever they presented.
 */
import { timingSafeEqual } from "node:crypto"

/** In hexadecimal, small or capital. */
export const isDigest = (digest: Buffer, presented: string | undefined): boolean => {
  if (presented === undefined || presented.length !== digest.length * 2 || !/^[0-9a-f]*$/i.test(presented)) return false
  return timingSafeEqual(digest, Buffer.from(presented, "hex"))
}
