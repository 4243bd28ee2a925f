/**
 * The target of the headers of source images. Width and height of an accepted image must be those that a second,
 * independent reading finds.
 */
import type { readSource } from "@tollgate/adapters-http/images/SourceHeader"
import { isWithinLimits } from "@tollgate/domain/images/ImageFields"
import { FastCheck } from "effect"
import { aJpeg, aPng, aWebp, canvas, lossless, lossy, riff } from "../../adapters-http/images/Pictures.ts"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"

export type ReadImage = typeof readSource

const check =
  (read: ReadImage) =>
  (bytes: Buffer): void => {
    const source = read(bytes)
    if (source._tag === "Left") {
      must(/^(InvalidRequest|ImageTooLarge)$/.test(source.left._tag), "the error is unknown")
      return
    }
    const { format, widthPx, heightPx } = source.right
    must(widthPx > 0 && heightPx > 0 && isWithinLimits(widthPx, heightPx), `accepts ${widthPx}x${heightPx} pixels`)
    mustEqual([widthPx, heightPx], sizes[format](bytes), "the dimensions")
  }

type Chunk = { readonly kind: string; readonly content: Buffer }

/**
 * Lists the chunks of a PNG or WebP file. The head of a chunk has the length first in PNG, and the name first in WebP.
 */
const chunksIn = (bytes: Buffer, from: number, isPng: boolean): ReadonlyArray<Chunk> => {
  const chunks: Array<Chunk> = []
  for (let rest = bytes.subarray(from); rest.length >= 8; ) {
    const length = isPng ? rest.readUInt32BE(0) : rest.readUInt32LE(4)
    const [nameAt, tail] = isPng ? [4, 4] : [0, length % 2]
    chunks.push({ kind: rest.toString("latin1", nameAt, nameAt + 4), content: rest.subarray(8, 8 + length) })
    rest = rest.subarray(8 + length + tail)
  }
  return chunks
}

const pngSize = (bytes: Buffer) => {
  const chunks = chunksIn(bytes, 8, true)
  const data = chunks.findIndex(({ kind }) => kind === "IDAT")
  const isAnimated = chunks.slice(0, data).some(({ kind }) => kind === "acTL")
  const header = chunks[0]
  return data < 1 || isAnimated || header?.kind !== "IHDR" || header.content.length !== 13
    ? "no still image"
    : [header.content.readUInt32BE(0), header.content.readUInt32BE(4)]
}

const webpSize = (bytes: Buffer) => {
  const chunks = chunksIn(bytes, 12, false)
  const image = chunks.findIndex(({ kind }) => kind === "VP8 " || kind === "VP8L")
  const before = chunks.slice(0, image)
  const { kind, content } = chunks[image] ?? { kind: "", content: Buffer.alloc(0) }
  const isAnimated = before.some(({ kind, content }) => /^AN/.test(kind) || (kind === "VP8X" && (content[0] ?? 0) & 2))
  if (isAnimated || content.length < 5) return "no still image"
  if (kind === "VP8 ") return [content.readUInt16LE(6) % 16_384, content.readUInt16LE(8) % 16_384]
  const bits = content.readUInt32LE(1)
  return [(bits % 16_384) + 1, (Math.floor(bits / 16_384) % 16_384) + 1]
}

/** Reads the size in the first frame header (SOF), and skips the segments before it. */
const jpegSize = (bytes: Buffer) => {
  for (let rest = bytes.subarray(2); rest.length > 4; ) {
    while (rest[0] === 0xff && rest[1] === 0xff) rest = rest.subarray(1)
    const marker = rest[1] ?? 0
    if (rest[0] !== 0xff) break
    if (/^(c[0-35-79-be]|c[df])$/.test(marker.toString(16))) return [rest.readUInt16BE(7), rest.readUInt16BE(5)]
    rest = rest.subarray(marker === 1 || (marker >= 0xd0 && marker <= 0xd7) ? 2 : 2 + rest.readUInt16BE(2))
  }
  return "no frame"
}

const sizes = { png: pngSize, jpeg: jpegSize, webp: webpSize }

const edge = FastCheck.oneof(FastCheck.integer({ min: 1, max: 4_097 }), FastCheck.constantFrom(0, 1, 4_096, 16_383))
const size = FastCheck.tuple(edge, edge)
const positive = FastCheck.tuple(FastCheck.integer({ min: 1, max: 16_000 }), FastCheck.integer({ min: 1, max: 16_000 }))
const extra = FastCheck.constantFrom<readonly [string, Buffer]>(
  ["acTL", Buffer.alloc(8)],
  ["tEXt", Buffer.from("a\0IDAT")],
  ["CgBI", Buffer.alloc(4)]
)

export const imageHeaderTarget = (read: ReadImage): FuzzTarget => ({
  name: "image-headers",
  grammar: FastCheck.oneof(
    FastCheck.tuple(size, FastCheck.array(extra, { maxLength: 2 })).map(([[w, h], more]) => aPng(w, h, ...more)),
    FastCheck.tuple(size, FastCheck.constantFrom(0xc0, 0xc1, 0xc2, 0xc3, 0xcf, 0xc4)).map(([[w, h], frame]) =>
      aJpeg(w, h, frame)
    ),
    size.map(([w, h]) => aWebp(w, h)),
    positive.map(([w, h]) => riff(["VP8L", lossless(w, h)])),
    FastCheck.tuple(positive, positive, FastCheck.boolean()).map(([[w, h], [cw, ch], equal]) =>
      riff(["VP8X", canvas(equal ? w : cw, equal ? h : ch)], ["ALPH", Buffer.alloc(3)], ["VP8 ", lossy(w, h)])
    )
  ),
  words: ["IHDR", "IDAT", "acTL", "RIFF", "WEBP", "VP8 ", "VP8L", "VP8X", "ANIM", "\u00ff\u00c0", "Exif\0\0"],
  testInputs: 750,
  open: pure(check(read))
})
