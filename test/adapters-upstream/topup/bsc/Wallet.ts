/**
 * Creates wallets with their private keys, which the server never has.
 */
import { createECDH, pbkdf2Sync } from "node:crypto"
import { HDKey } from "@scure/bip32"
import { addressOfPublicKey } from "@tollgate/adapters-upstream/topup/bsc/DepositAddresses"

export const HARDHAT = "test test test test test test test test test test test junk"
export const GANACHE = "myth like bonus scare over problem client lizard pioneer submit female collect"
export const TRUFFLE = "candy maple cake sugar pudding cream honey rich smooth crumble sweet treat"
export const BIP39_VECTOR = `${"abandon ".repeat(11)}about`

/** The recovery words of a wallet that exists only in tests. */
export const OURS = "words that only this test knows and that no manual has ever printed anywhere"

const ADDRESSES = "m/44'/60'/0'/0"

export const walletOf = (words: string) => {
  const root = HDKey.fromMasterSeed(pbkdf2Sync(words, "mnemonic", 2048, 64, "sha512"))
  return {
    xpub: root.derive(ADDRESSES).publicExtendedKey,
    accountXpub: root.derive("m/44'/60'/0'").publicExtendedKey,
    rootXpub: root.publicExtendedKey,
    xprv: root.derive(ADDRESSES).privateExtendedKey,
    /** Returns the address that is derived from the private key, as in a wallet. */
    addressAt: (index: number): string => {
      const pair = createECDH("secp256k1")
      pair.setPrivateKey(root.derive(`${ADDRESSES}/${index}`).privateKey ?? new Uint8Array())
      return addressOfPublicKey(pair.getPublicKey())
    }
  }
}
