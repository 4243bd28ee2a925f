import { randomBytes } from "node:crypto"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import { mint } from "@tollgate/domain/customer/ApiKey"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"

const [old, fresh] = [Redacted.make("old pepper"), Redacted.make("fresh pepper")]
const before = KeyMac.make({ prefix: "tg", peppers: new Map([[1, old]]), currentVersion: 1 })
const key = mint("tg", randomBytes(44))

describe("KeyMac", () => {
  it("verifies an older key after a pepper change while the old pepper is still configured", () => {
    const peppers = new Map([
      [1, old],
      [2, fresh]
    ])
    const after = KeyMac.make({ prefix: "tg", peppers, currentVersion: 2 })
    expect(after.verify(key, before.seal(key))).toBe(true)
    expect(after.seal(key).pepperVersion).toBe(2)
    expect(before.verify(key, after.seal(key))).toBe(false)
  })

  it("does not verify a key when the pepper of the key is missing", () => {
    const without = KeyMac.make({ prefix: "tg", peppers: new Map([[2, fresh]]), currentVersion: 2 })
    expect(without.verify(key, before.seal(key))).toBe(false)
    expect(without.verify(key, { ...before.seal(key), pepperVersion: 2 })).toBe(false)
  })

  it("does not verify a key with another public id", () => {
    const other = { ...key, publicId: mint("tg", randomBytes(44)).publicId }
    expect(before.verify(other, before.seal(key))).toBe(false)
  })

  it("does not verify a key when no MAC is stored", () => {
    expect(before.verify(key, undefined)).toBe(false)
  })

  it("cannot be created without the current pepper", () => {
    expect(() => KeyMac.make({ prefix: "tg", peppers: new Map(), currentVersion: 1 })).toThrow("version 1")
  })
})
