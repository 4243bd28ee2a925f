/**
 * The target of deposit addresses on BNB Smart Chain. The checksum of an address must be the one of EIP-55. An address
 * that is derived from the public key must be the address of the private key.
 */

import { keccak_256 } from "@noble/hashes/sha3.js"
import { HDKey } from "@scure/bip32"
import { addressOfPublicKey, checksummed, read } from "@tollgate/adapters-upstream/topup/bsc/DepositAddresses"
import { Either, FastCheck, Redacted } from "effect"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"

export interface DepositAddressSubject {
  readonly checksummed: (address: string) => string
  readonly read: typeof read
}

export const depositAddressSubject: DepositAddressSubject = { checksummed, read }

const wallet = HDKey.fromMasterSeed(Buffer.alloc(32, 7)).derive("m/44'/60'/0'")
const chain = wallet.deriveChild(0)
const XPUB = chain.publicExtendedKey

/**
 * An input is an extended public key or nothing, a space, and the deposit index or an address in hexadecimal digits.
 */
const check =
  ({ checksummed, read }: DepositAddressSubject) =>
  (input: Buffer): void => {
    const [xpub = "", word = ""] = input.toString("latin1").split(" ")
    const addresses = read(Redacted.make(xpub), { atSimulator: true })
    must(
      Either.isLeft(addresses) || xpub.trim() === XPUB || isExtendedKey(xpub),
      "accepts a changed extended public key"
    )
    if (Either.isRight(addresses) && xpub.trim() === XPUB && /^\d{1,10}$/.test(word)) {
      const index = Number(word)
      const address = addresses.right.at(index)
      mustEqual(Either.isRight(address), index < 2 ** 31, "the index has an address")
      if (Either.isRight(address)) mustEqual(address.right, ofPrivateKey(index), "the address of the private key")
    }
    if (!/^[0-9a-f]{40}$/i.test(word)) return
    const address = checksummed(`0x${word}`)
    mustEqual(address.toLowerCase(), `0x${word.toLowerCase()}`, "the digits")
    mustEqual(checksummed(address), address, "the checksum of an address with a checksum")
    mustEqual(address, eip55(word), "the checksum")
  }

const isExtendedKey = (text: string): boolean => {
  try {
    return HDKey.fromExtendedKey(text.trim()).publicExtendedKey === text.trim()
  } catch {
    return false
  }
}

const ofPrivateKey = (index: number): string => {
  const { publicKey } = HDKey.fromExtendedKey(chain.privateExtendedKey ?? "").deriveChild(index)
  return addressOfPublicKey(publicKey as Uint8Array)
}

/** Computes the checksum as the text of EIP-55 describes it: by the bits of the hash. */
const eip55 = (digits: string): string => {
  const lower = digits.toLowerCase()
  const hash = keccak_256(new TextEncoder().encode(lower))
  const isUpper = (i: number) => (((hash[i >> 1] ?? 0) >> (i % 2 === 0 ? 7 : 3)) & 1) === 1
  return `0x${[...lower].map((digit, i) => (isUpper(i) ? digit.toUpperCase() : digit)).join("")}`
}

const hexadecimal = FastCheck.hexaString({ minLength: 40, maxLength: 40 })

export const depositAddressTarget = (subject: DepositAddressSubject): FuzzTarget => ({
  name: "deposit-addresses",
  grammar: FastCheck.oneof(
    FastCheck.oneof(FastCheck.nat(1_000), FastCheck.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32)).map(
      (i) => `${XPUB} ${i}`
    ),
    hexadecimal.map((address) => `${XPUB} ${address}`),
    hexadecimal.map((address) => ` ${address}`),
    hexadecimal.map((address) => ` ${address.toUpperCase()}`)
  ).map((text) => Buffer.from(text)),
  words: ["xpub", "xprv", "0x", " ", "0", "A", "1"],
  testInputs: 100,
  open: pure(check(subject))
})
