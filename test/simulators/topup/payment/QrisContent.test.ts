import { checksum, qrisContent, qrPicture } from "@tollgate/simulators/topup/payment/QrisContent"
import jsQR from "jsqr"
import { describe, expect, it } from "vitest"

const fieldsOf = (content: string): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (let at = 0; at < content.length; ) {
    const length = Number(content.slice(at + 2, at + 4))
    fields.set(content.slice(at, at + 2), content.slice(at + 4, at + 4 + length))
    at += 4 + length
    expect(at).toBeLessThanOrEqual(content.length)
  }
  return fields
}

describe("a QRIS text of the simulator", () => {
  it("has the fields of a dynamic rupiah code with the amount", () => {
    const fields = fieldsOf(qrisContent(105_000n, "0123456789012345678901234567890123456789"))
    expect([...fields.keys()]).toEqual(["00", "01", "26", "52", "53", "54", "58", "59", "60", "62", "63"])
    const valued = { "00": "01", "01": "12", "52": "0000", "53": "360", "54": "105000", "58": "ID" }
    for (const [tag, value] of Object.entries(valued)) expect(fields.get(tag)).toBe(value)
    expect(fields.get("59")).toBe("SIMULATOR NOT REAL")
    expect(fields.get("26")).toContain("SIM.LOCAL.TEST")
    expect([...fieldsOf(fields.get("62") ?? "")]).toEqual([["01", "0123456789012345678901234"]])
  })

  it("ends with the checksum of the preceding text", () => {
    expect(checksum("123456789")).toBe("29B1")
    const content = qrisContent(1n, "r")
    expect(content.slice(-8)).toBe(`6304${checksum(content.slice(0, -4))}`)
  })

  it("is encoded in its image", () => {
    const content = qrisContent(9_999_999n, "b1946ac9-2c3a-4a79-9f5d-000000000001")
    const { data, side } = rasterOf(qrPicture(content))
    expect(jsQR.default(data, side, side)?.data).toBe(content)
  })
})

/** Converts the SVG image to pixels. Each square of the image is a separate path. */
const rasterOf = (svg: string) => {
  const side = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
  const data = new Uint8ClampedArray(side * side * 4).fill(255)
  for (const [, x, y, size] of svg.matchAll(/M(\d+),(\d+)h(\d+)v\d+h-\d+z/g)) {
    for (let row = Number(y); row < Number(y) + Number(size); row++)
      for (let column = Number(x); column < Number(x) + Number(size); column++)
        data.fill(0, (row * side + column) * 4, (row * side + column) * 4 + 3)
  }
  return { data, side }
}
