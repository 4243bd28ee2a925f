import { keccak_256 } from "@noble/hashes/sha3.js"
import * as BscTokens from "@tollgate/adapters-upstream/topup/bsc/BscTokens"
import { checksummed } from "@tollgate/adapters-upstream/topup/bsc/DepositAddresses"
import { Quantity, quantityOf, Word } from "@tollgate/adapters-upstream/topup/bsc/JsonRpc"
import { Either, FastCheck, Schema } from "effect"
import { describe, expect, it } from "vitest"

const hashOf = (signature: string) => `0x${Buffer.from(keccak_256(Buffer.from(signature))).toString("hex")}`
const HOLDER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const HOLDER_WORD = "0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed"

describe("a call of a token contract", () => {
  it("begins with four bytes of the signature's hash", () => {
    expect(BscTokens.DECIMALS_CALL).toBe(hashOf("decimals()").slice(0, 10))
    expect(BscTokens.balanceOfCall(HOLDER).slice(0, 10)).toBe(hashOf("balanceOf(address)").slice(0, 10))
    expect(BscTokens.TRANSFER_TOPIC).toBe(hashOf("Transfer(address,address,uint256)"))
  })

  it("encodes an address as a 32-byte word", () => {
    expect(BscTokens.balanceOfCall(HOLDER)).toBe(`0x70a08231${HOLDER_WORD}`)
    expect(BscTokens.transferTopicsTo(HOLDER)).toEqual([BscTokens.TRANSFER_TOPIC, null, `0x${HOLDER_WORD}`])
  })

  it("uses contract addresses with valid checksums", () => {
    for (const contract of Object.values(BscTokens.TOKEN_CONTRACTS)) expect(checksummed(contract)).toBe(contract)
  })
})

describe("a hexadecimal number of JSON-RPC", () => {
  it("keeps every digit of a 256-bit word", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.bigUintN(256), (n) => {
        const text = Schema.encodeSync(Word)(n)
        expect(text).toHaveLength(66)
        expect(Schema.decodeSync(Word)(text)).toBe(n)
      })
    )
  })

  it("is written without leading zeros if it is a quantity", () => {
    expect(quantityOf(0)).toBe("0x0")
    expect(quantityOf(56)).toBe("0x38")
    expect(Schema.decodeSync(Quantity)("0x38")).toBe(56)
  })

  it.each(["0x", "", "38", "0xzz", "0x1234567890abcdef", "-0x1"])("is not read from %j", (text) => {
    expect(Either.isLeft(Schema.decodeEither(Quantity)(text))).toBe(true)
    expect(Either.isLeft(Schema.decodeEither(Word)(text))).toBe(true)
  })
})
