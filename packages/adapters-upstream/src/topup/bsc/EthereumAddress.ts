/**
 * Addresses of accounts and contracts: `0x` and 40 hexadecimal digits, whose upper and lower case is a checksum
 * (EIP-55) that wallets verify before they send.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"

const ADDRESS_BYTES = 20

/** The same address with the case that wallets expect. */
export const checksummed = (address: string): string => {
  const digits = address.slice("0x".length).toLowerCase()
  const hash = hex(keccak_256(Buffer.from(digits, "ascii")))
  const cased = [...digits].map((digit, i) => (hash.charAt(i) >= "8" ? digit.toUpperCase() : digit))
  return `0x${cased.join("")}`
}

/** The account that the private key of this public key, compressed or not, controls. */
export const ofPublicKey = (publicKey: Uint8Array): string => {
  const point = secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1)
  return checksummed(`0x${hex(keccak_256(point).subarray(-ADDRESS_BYTES))}`)
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
