import { createECDH } from "node:crypto"
import * as DepositAddresses from "@tollgate/adapters-upstream/topup/bsc/DepositAddresses"
import { Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { BIP39_VECTOR, GANACHE, HARDHAT, OURS, TRUFFLE, walletOf } from "./Wallet.ts"

const read = (key: string, atSimulator = false) => DepositAddresses.read(Redacted.make(key), { atSimulator })
const refusal = (key: string) => Either.getOrThrow(Either.flip(read(key)))
const wallet = walletOf(OURS)

describe("deposit addresses", () => {
  it.each([0, 1, 2, 777])("equal the wallet's address at the index %i", (index) => {
    const address = Either.getOrThrow(Either.flatMap(read(wallet.xpub), ({ at }) => at(index)))
    expect(address).toBe(wallet.addressAt(index))
  })

  it("equal the published addresses of a public test wallet", () => {
    const { at } = Either.getOrThrow(read(walletOf(HARDHAT).xpub, true))
    expect([0, 1, 2].map((index) => Either.getOrThrow(at(index)))).toEqual([
      "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    ])
  })

  it("are the same with the extended public key of the account", () => {
    const { at } = Either.getOrThrow(read(` ${wallet.accountXpub}\n`))
    expect(Either.getOrThrow(at(777))).toBe(wallet.addressAt(777))
  })

  it.each([-1, 0.5, 2 ** 31, Number.NaN])("do not exist for the index %d", (index) => {
    const { at } = Either.getOrThrow(read(wallet.xpub))
    expect(Either.isLeft(at(index))).toBe(true)
  })
})

describe("an extended public key", () => {
  it("is refused if it is an extended private key", () => {
    expect(refusal(wallet.xprv)).toMatch(/private key/)
  })

  it.each([HARDHAT, GANACHE, TRUFFLE, BIP39_VECTOR])("is refused with a public mnemonic: %s", (words) => {
    const { xpub, accountXpub } = walletOf(words)
    expect(refusal(xpub)).toMatch(/words are public/)
    expect(refusal(accountXpub)).toMatch(/words are public/)
    expect(Either.isRight(read(xpub, true))).toBe(true)
  })

  it("is refused if its depth is 0 (the root of a wallet)", () => {
    expect(refusal(wallet.rootXpub)).toMatch(/depth 0/)
  })

  it.each([
    ["an empty text", ""],
    ["a mnemonic", OURS],
    ["a key with a wrong letter", wallet.xpub.replace(/.$/, (last) => (last === "a" ? "b" : "a"))],
    ["a key of Bitcoin's test network", `tpub${wallet.xpub.slice(4)}`]
  ])("cannot be read from %s", (_, key) => {
    expect(refusal(key)).toMatch(/should begin with xpub/)
    if (key !== "") expect(refusal(key)).not.toContain(key)
  })
})

describe("an address", () => {
  it.each([
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
  ])("has upper and lower case as in EIP-55: %s", (address) => {
    expect(DepositAddresses.checksummed(address.toLowerCase())).toBe(address)
    expect(DepositAddresses.checksummed(`0x${address.slice(2).toUpperCase()}`)).toBe(address)
  })

  it("is derived from a compressed or uncompressed public key", () => {
    const pair = createECDH("secp256k1")
    pair.setPrivateKey("01".padStart(64, "0"), "hex")
    const ofKeyOne = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
    expect(DepositAddresses.addressOfPublicKey(pair.getPublicKey(null, "compressed"))).toBe(ofKeyOne)
    expect(DepositAddresses.addressOfPublicKey(pair.getPublicKey(null, "uncompressed"))).toBe(ofKeyOne)
  })
})
