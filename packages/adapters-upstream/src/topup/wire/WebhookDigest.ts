/**
 * Compares the digest in a webhook with the computed digest, in constant time.
 */
import { timingSafeEqual } from "node:crypto"

/** Returns whether the presented digest matches. It is hexadecimal, in lower or upper case. */
export const isDigest = (digest: Buffer, presented: string | undefined): boolean => {
  if (presented === undefined || presented.length !== digest.length * 2 || !/^[0-9a-f]*$/i.test(presented)) return false
  return timingSafeEqual(digest, Buffer.from(presented, "hex"))
}
