/**
 * Derives one address per order from an extended public key (BIP-32). The server can derive addresses from this key but
 * cannot spend the money that arrives there.
 *
 * The key belongs to the path `m/44'/60'/0'/0`, or to its parent, the account `m/44'/60'/0'`. Both keys give the
 * addresses that a wallet shows. The key must be kept secret although it is a public key: the private keys of all
 * addresses can be computed from this key and the private key of one address.
 */

import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { HARDENED_OFFSET, HDKey } from "@scure/bip32"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

export interface DepositAddresses {
  /** Returns the address for the deposit index of an order, or the reason why there is no such address. */
  readonly at: (index: number) => Either.Either<string, string>
}

const ACCOUNT_DEPTH = 3
const ADDRESSES_DEPTH = 4

/**
 * The first addresses of wallets whose recovery words are published in manuals. Every reader of a manual can spend
 * money that arrives there.
 */
const PUBLIC_WALLETS: ReadonlySet<string> = new Set([
  // "test test test test test test test test test test test junk": hardhat, anvil
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  // "myth like bonus scare over problem client lizard pioneer submit female collect": ganache
  "0x90F8bf6A479f320ead074411a4B0e7944Ea8c9C1",
  // "candy maple cake sugar pudding cream honey rich smooth crumble sweet treat": truffle
  "0x627306090abaB3A6e1400e9345bC60c78a8BEf57",
  // "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about": BIP-39
  "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
])

/** Reads an extended public key, or returns the reason why the key is rejected. The reason never contains the key. */
export const read = (
  xpub: Redacted.Redacted<string>,
  { atSimulator }: { readonly atSimulator: boolean }
): Either.Either<DepositAddresses, string> => {
  const parsed = Either.try(() => HDKey.fromExtendedKey(Redacted.value(xpub).trim()))
  if (Either.isLeft(parsed)) return Either.left("the extended public key cannot be read: it should begin with xpub")
  const key = parsed.right
  if (key.privateKey !== null) {
    return Either.left("an extended private key was given; set the extended public key (xpub) instead")
  }
  const chain = chainOf(key)
  if (chain === undefined) {
    return Either.left(`the extended public key has the depth ${key.depth}; it should be the key of m/44'/60'/0'/0`)
  }
  const addresses: DepositAddresses = { at: (index) => addressAt(chain, index) }
  const first = Either.getOrElse(addresses.at(0), () => "")
  if (PUBLIC_WALLETS.has(first) && !atSimulator)
    return Either.left("the extended public key belongs to a wallet whose recovery words are public")
  return Either.right(addresses)
}

const chainOf = (key: HDKey): HDKey | undefined => {
  if (key.depth === ADDRESSES_DEPTH) return key
  return key.depth === ACCOUNT_DEPTH ? key.deriveChild(0) : undefined
}

const addressAt = (chain: HDKey, index: number): Either.Either<string, string> => {
  const derivable = Number.isInteger(index) && index >= 0 && index < HARDENED_OFFSET
  const publicKey = derivable ? chain.deriveChild(index).publicKey : null
  return publicKey === null
    ? Either.left(`no address has the deposit index ${index}`)
    : Either.right(addressOfPublicKey(publicKey))
}

const ADDRESS_BYTES = 20

/**
 * Returns the address with the checksum of EIP-55. The case of each letter encodes a part of the checksum. Many wallets
 * verify the checksum before they send money.
 */
export const checksummed = (address: string): string => {
  const digits = address.slice("0x".length).toLowerCase()
  const hash = hex(keccak_256(Buffer.from(digits, "ascii")))
  const cased = [...digits].map((digit, i) => (hash.charAt(i) >= "8" ? digit.toUpperCase() : digit))
  return `0x${cased.join("")}`
}

/** Returns the address of a compressed or uncompressed public key. */
export const addressOfPublicKey = (publicKey: Uint8Array): string => {
  const point = secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1)
  return checksummed(`0x${hex(keccak_256(point).subarray(-ADDRESS_BYTES))}`)
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
