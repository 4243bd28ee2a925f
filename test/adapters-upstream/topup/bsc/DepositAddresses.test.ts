import * as DepositAddresses from "@tollgate/adapters-upstream/topup/bsc/DepositAddresses"
import { Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { BIP39_VECTOR, GANACHE, HARDHAT, OURS, TRUFFLE, walletOf } from "./Wallet.ts"

const read = (key: string, simulated = false) => DepositAddresses.read(Redacted.make(key), { simulated })
const refusal = (key: string) => Either.getOrThrow(Either.flip(read(key)))
const wallet = walletOf(OURS)

describe("deposit addresses", () => {
  it.each([0, 1, 2, 777])("are those that the wallet derives from its words: %i", (index) => {
    const address = Either.getOrThrow(Either.flatMap(read(wallet.xpub), ({ at }) => at(index)))
    expect(address).toBe(wallet.addressAt(index))
  })

  it("are the known ones of a known wallet", () => {
    const { at } = Either.getOrThrow(read(walletOf(HARDHAT).xpub, true))
    expect([0, 1, 2].map((index) => Either.getOrThrow(at(index)))).toEqual([
      "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    ])
  })

  it("are the same from the key of the account", () => {
    const { at } = Either.getOrThrow(read(` ${wallet.accountXpub}\n`))
    expect(Either.getOrThrow(at(777))).toBe(wallet.addressAt(777))
  })

  it.each([-1, 0.5, 2 ** 31, Number.NaN])(
    "do not exist for the index %d: hardened keys need the private one",
    (index) => {
      const { at } = Either.getOrThrow(read(wallet.xpub))
      expect(Either.isLeft(at(index))).toBe(true)
    }
  )
})

describe("the key they come from", () => {
  it("is never a private one", () => {
    expect(refusal(wallet.xprv)).toMatch(/private key/)
  })

  it.each([HARDHAT, GANACHE, TRUFFLE, BIP39_VECTOR])("is not of a wallet whose words everybody knows: %s", (words) => {
    const { xpub, accountXpub } = walletOf(words)
    expect(refusal(xpub)).toMatch(/words are public/)
    expect(refusal(accountXpub)).toMatch(/words are public/)
    expect(Either.isRight(read(xpub, true))).toBe(true)
  })

  it("is of a depth whose addresses a wallet shows", () => {
    expect(refusal(wallet.rootXpub)).toMatch(/depth 0/)
  })

  it.each([
    ["nothing", ""],
    ["words", OURS],
    ["a key with a wrong letter", wallet.xpub.replace(/.$/, (last) => (last === "a" ? "b" : "a"))],
    ["a key of Bitcoin's test network", `tpub${wallet.xpub.slice(4)}`]
  ])("cannot be read from %s, and is not repeated", (_, key) => {
    expect(refusal(key)).toMatch(/should begin with xpub/)
    if (key !== "") expect(refusal(key)).not.toContain(key)
  })
})
