import * as Qris from "@tollgate/adapters-upstream/topup/wire/Qris"
import { Idr } from "@tollgate/domain/money/Idr"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { aQrisCode } from "../QrisCode.ts"

/** The example in the documentation of Midtrans, for 789,000 rupiah. */
const DOCUMENTED =
  "00020101021226620014COM.GO-JEK.WWW011993600914349052630340210G4905263030303UKE51440014ID.CO.QRIS.WWW" +
  "0215AID0607336128660303UKE5204341453033605802ID5904Test6007BANDUNG6105402845409789000.00" +
  "62475036c032f87c-f773-4619-aefa-675e1f06f9210703A016304A623"

const TOTAL = Idr(105_000n)

describe("the checksum of a QRIS code", () => {
  it("equals the check value of the standard", () => {
    expect(Qris.checksumOf("123456789")).toBe("29B1")
  })
})

describe("a QRIS code", () => {
  it("is accepted in the form that Midtrans documents", () => {
    expect(Qris.faultOf(DOCUMENTED, Idr(789_000n))).toBeUndefined()
    expect(Qris.faultOf(aQrisCode(TOTAL), TOTAL)).toBeUndefined()
    expect(Qris.faultOf(aQrisCode(TOTAL, { "54": "105000.00" }), TOTAL)).toBeUndefined()
    expect(Qris.faultOf(aQrisCode(TOTAL, { "55": "01" }), TOTAL)).toBeUndefined()
  })

  it("is accepted with a checksum in lower case", () => {
    expect(Qris.faultOf(DOCUMENTED.replace(/A623$/, "a623"), Idr(789_000n))).toBeUndefined()
    expect(Qris.faultOf(DOCUMENTED.replace(/A623$/, "a624"), Idr(789_000n))).toBe("its checksum is wrong")
  })

  it("is refused if it has another amount", () => {
    expect(Qris.faultOf(DOCUMENTED, TOTAL)).toBe("its amount differs from the order")
    expect(Qris.faultOf(aQrisCode(TOTAL, { "54": undefined }), TOTAL)).toBe("its amount differs from the order")
    expect(Qris.faultOf(aQrisCode(TOTAL, { "54": "105000.50" }), TOTAL)).toBe("its amount differs from the order")
  })

  it("is refused if it adds a fee", () => {
    expect(Qris.faultOf(aQrisCode(TOTAL, { "55": "02", "56": "500" }), TOTAL)).toBe("it adds a fee")
  })

  it("is refused without a field that scanners require", () => {
    for (const tag of ["00", "01", "52", "53", "58", "59", "60"]) {
      expect(Qris.faultOf(aQrisCode(TOTAL, { [tag]: undefined }), TOTAL), tag).toBeDefined()
    }
    expect(Qris.faultOf(aQrisCode(TOTAL, { "26": undefined }), TOTAL)).toBe("it contains no merchant account")
    expect(Qris.faultOf(aQrisCode(TOTAL, { "53": "840" }), TOTAL)).toBe("field 53 is missing or wrong")
    expect(Qris.faultOf(aQrisCode(TOTAL, { "58": "SG" }), TOTAL)).toBe("field 58 is missing or wrong")
  })

  const code = aQrisCode(TOTAL)

  it("is refused if it is incomplete or no QRIS text", () => {
    for (const text of [
      "",
      "SANDBOX MODE",
      "https://pay.example",
      code.slice(0, -1),
      `${code}0000`,
      code.toLowerCase()
    ]) {
      expect(Qris.faultOf(text, TOTAL), text).toBeDefined()
    }
  })

  it("is refused if it contains a field twice", () => {
    expect(Qris.faultOf(`${code.slice(0, -8)}5802ID${code.slice(-8)}`, TOTAL)).toBe("a field occurs twice")
  })

  it("is refused after any change of one character, except the case of the checksum", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(code.length - 1), FastCheck.integer({ min: 32, max: 126 }), (at, char) => {
        const other = code.slice(0, at) + String.fromCharCode(char) + code.slice(at + 1)
        FastCheck.pre(other !== code && (at < code.length - 4 || other.toUpperCase() !== code.toUpperCase()))
        expect(Qris.faultOf(other, TOTAL)).toBeDefined()
      })
    )
  })
})
