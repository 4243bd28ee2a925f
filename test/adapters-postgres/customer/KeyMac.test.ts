import { randomBytes } from "node:crypto"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import { generateKey } from "@tollgate/domain/customer/ApiKey"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"

const [old, fresh] = [Redacted.make("old pepper"), Redacted.make("fresh pepper")]
const before = KeyMac.make({ prefix: "tg", pepper: old })
const announced = KeyMac.make({ prefix: "tg", pepper: old, previousPepper: fresh })
const during = KeyMac.make({ prefix: "tg", pepper: fresh, previousPepper: old })
const after = KeyMac.make({ prefix: "tg", pepper: fresh })
const key = generateKey("tg", randomBytes(44))

describe("an API key", () => {
  it("is verified under the current and the previous pepper", () => {
    const accepts = (stored: KeyMac.SealedKey) =>
      [before, announced, during, after].map((mac) => mac.verify(key, stored.secretMac))
    expect(accepts(before.seal(key))).toEqual([true, true, true, false])
    expect(accepts(during.seal(key))).toEqual([false, true, true, true])
  })

  it("is stored with the name of the current pepper", () => {
    expect(during.seal(key)).toEqual(after.seal(key))
    expect(announced.seal(key)).toEqual(before.seal(key))
    expect(during.seal(key).pepperName).toBe(during.pepperName)
    expect([during.pepperName, during.previousPepperName]).toEqual([announced.previousPepperName, announced.pepperName])
    expect(after.previousPepperName).toBeUndefined()
    expect(before.pepperName).toMatch(/^[0-9a-f]{8}$/)
    expect(before.pepperName).not.toBe(after.pepperName)
  })

  it("is not verified with another public id", () => {
    const other = { ...key, publicId: generateKey("tg", randomBytes(44)).publicId }
    expect(during.verify(other, before.seal(key).secretMac)).toBe(false)
  })

  it("is not verified when no MAC is stored", () => {
    expect(during.verify(key, undefined)).toBe(false)
  })
})
