import { uuidV7 } from "@tollgate/domain/operations/UuidV7"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const random = FastCheck.uint8Array({ minLength: 10, maxLength: 10 })
const millis = FastCheck.integer({ min: 0, max: 2 ** 48 - 1 })

describe("uuidV7", () => {
  it("creates the example UUID of the standard", () => {
    // RFC 9562, appendix A.6: 2022-02-22T19:22:22Z.
    const bytes = Uint8Array.from([0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f])
    expect(uuidV7(0x017f22e279b0, bytes)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
  })

  it("reads its random bytes from an offset", () => {
    const drawn = Uint8Array.from({ length: 40 }, (_, i) => i * 7)
    expect(uuidV7(1, drawn, 20)).toBe(uuidV7(1, drawn.subarray(20, 30)))
  })

  property("creates valid version 7 UUIDs from any random bytes", [millis, random], (now, bytes) =>
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuidV7(now, bytes))
  )

  property(
    "creates ids that sort by time",
    [millis, millis, random, random],
    (a, b, x, y) => a === b || a < b === uuidV7(a, x) < uuidV7(b, y)
  )
})
