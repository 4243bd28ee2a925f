import { createECDH } from "node:crypto"
import * as EthereumAddress from "@tollgate/adapters-upstream/topup/bsc/EthereumAddress"
import { describe, expect, it } from "vitest"

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
  ])("is cased as EIP-55 says: %s", (address) => {
    expect(EthereumAddress.checksummed(address.toLowerCase())).toBe(address)
    expect(EthereumAddress.checksummed(`0x${address.slice(2).toUpperCase()}`)).toBe(address)
  })

  it("belongs to a public key, compressed or not", () => {
    const pair = createECDH("secp256k1")
    pair.setPrivateKey("01".padStart(64, "0"), "hex")
    const ofKeyOne = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
    expect(EthereumAddress.ofPublicKey(pair.getPublicKey(null, "compressed"))).toBe(ofKeyOne)
    expect(EthereumAddress.ofPublicKey(pair.getPublicKey(null, "uncompressed"))).toBe(ofKeyOne)
  })
})
