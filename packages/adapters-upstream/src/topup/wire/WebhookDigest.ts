/**
 * Compares the digest that a webhook contains with the expected digest, in constant time.
 */
import { timingSafeEqual } from "node:crypto"

/**
 * Returns whether the presented digest equals `digest`. The presented digest is hexadecimal, in lower or upper case.
 */
export const isDigest = (digest: Buffer, presented: string | undefined): boolean => {
  if (presented === undefined || presented.length !== digest.length * 2 || !/^[0-9a-f]*$/i.test(presented)) return false
  return timingSafeEqual(digest, Buffer.from(presented, "hex"))
}
