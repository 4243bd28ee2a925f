import { readSource } from "@tollgate/adapters-http/images/SourceHeader"
import { pictureOf } from "@tollgate/simulators/images/SimulatedPicture"
import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { aJpeg, aPng, aWebp, canvas, lossless, lossy, riff } from "./Pictures.ts"

/** Returns the format and the dimensions, for example `png 2x3`, or the tag of the error. */
const inspect = (bytes: Buffer): string => {
  const source = readSource(bytes)
  if (Either.isRight(source)) return `${source.right.format} ${source.right.widthPx}x${source.right.heightPx}`
  return source.left._tag
}

/** A WebP file as Chromium encodes it, with a colour profile before the image data. */
const FROM_A_BROWSER = riff(["VP8X", canvas(48, 32, 0x20)], ["ICCP", Buffer.alloc(457)], ["VP8 ", lossy(48, 32)])

describe("a source image", () => {
  it.each([
    ["a PNG", aPng(), "png 2x3"],
    ["a PNG with other chunks", aPng(7, 5, ["gAMA", Buffer.alloc(4)], ["tEXt", Buffer.from("acTL")]), "png 7x5"],
    ["a JPEG", aJpeg(), "jpeg 2x3"],
    ["a progressive JPEG", aJpeg(640, 480, 0xc2), "jpeg 640x480"],
    ["a lossy WebP", aWebp(), "webp 2x3"],
    ["a lossless WebP", riff(["VP8L", lossless(4_096, 4_096)]), "webp 4096x4096"],
    ["a WebP on a canvas", FROM_A_BROWSER, "webp 48x32"]
  ])("is identified by its bytes: %s", (_, bytes, expected) => {
    expect(inspect(bytes)).toBe(expected)
  })

  it.each(["png", "jpeg", "webp"] as const)("is identified in a real %s file", (format) => {
    const requested = { format, widthPx: 48, heightPx: 32, transparent: false, words: "x" }
    // The simulator scales a PNG so that its longer edge has 256 pixels.
    const expected = format === "png" ? "png 256x171" : `${format} 48x32`
    expect(inspect(Buffer.from(pictureOf(requested), "base64"))).toBe(expected)
  })

  it.each([
    ["a PNG with an acTL chunk", aPng(2, 3, ["acTL", Buffer.alloc(8)])],
    ["a WebP with the animation flag", riff(["VP8X", canvas(2, 3, 0x02)], ["VP8 ", lossy(2, 3)])],
    [
      "a WebP with frames but without the animation flag",
      riff(["VP8X", canvas(2, 3)], ["ANIM", Buffer.alloc(6)], ["ANMF", Buffer.alloc(16)])
    ]
  ])("is refused if it is animated: %s", (_, bytes) => {
    expect(readSource(bytes)).toMatchObject({ left: { param: "image", message: expect.stringContaining("animated") } })
  })

  it.each([
    ["an empty file", Buffer.alloc(0)],
    ["a GIF", Buffer.from("GIF89a\x01\x00\x01\x00")],
    ["an SVG", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>")],
    ["a PNG truncated in its header", aPng().subarray(0, 20)],
    ["a PNG truncated before its data", aPng().subarray(0, 34)],
    ["a PNG of width 0", aPng(0, 3)],
    ["a JPEG of height 0", aJpeg(2, 0)],
    ["a JPEG truncated before its frame", aJpeg().subarray(0, 40)],
    ["a JPEG with image data before its frame", Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 4, 1, 2])],
    ["a JPEG with a segment of length 0", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0])],
    ["a WebP with an empty image", Buffer.concat([riff(["VP8 ", Buffer.alloc(0)]), lossy(2, 3)])],
    ["a WebP with a wrong start code", riff(["VP8 ", Buffer.alloc(24)])],
    ["a WebP with an image larger than its canvas", riff(["VP8X", canvas(2, 3)], ["VP8 ", lossy(4_000, 4_000)])],
    ["a RIFF file that is not a WebP", Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1")]
  ])("is refused if it is malformed or unsupported: %s", (_, bytes) => {
    expect(readSource(bytes)).toMatchObject({ left: { _tag: "InvalidRequest", param: "image" } })
  })

  it("is too large if its width or height exceeds 4096 pixels", () => {
    for (const [width, height] of [
      [4_097, 1],
      [1, 4_097],
      [4_294_967_295, 4_294_967_295]
    ] as const) {
      expect(inspect(aPng(width, height))).toBe("ImageTooLarge")
    }
    expect([inspect(aJpeg(65_535, 1)), inspect(aWebp(16_383, 1))]).toEqual(["ImageTooLarge", "ImageTooLarge"])
    expect(inspect(aPng(4_096, 4_096))).toBe("png 4096x4096")
  })

  it("changed at random is read without an exception", () => {
    const whole = [aPng(2, 3, ["tEXt", Buffer.alloc(40)]), aJpeg(), aWebp(), FROM_A_BROWSER]
    fc.assert(
      fc.property(
        fc.constantFrom(...whole),
        fc.nat(),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }),
        (image, cut, changes) => {
          const bytes = Buffer.from(image.subarray(0, cut % (image.length + 1)))
          for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte
          expect(inspect(bytes)).toMatch(/^(png|jpeg|webp) \d+x\d+$|^InvalidRequest$|^ImageTooLarge$/)
        }
      ),
      { numRuns: 2_000 }
    )
  })
})
