/**
 * Reads the format and dimensions of a source image from its header bytes (docs/reference/images.md#g7). A source image
 * must be a still PNG, JPEG or WebP file. File names and declared types are ignored. No pixel is decoded, so a
 * decompression bomb has no effect.
 */
import { ImageTooLarge } from "@tollgate/domain/images/ImageErrors"
import { isWithinLimits, MAX_AREA_PX, MAX_EDGE_PX } from "@tollgate/domain/images/ImageFields"
import type { SourceFormat, SourceImage } from "@tollgate/domain/images/ImageRequest"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"

export const readSource = (bytes: Buffer): Either.Either<SourceImage, InvalidRequest | ImageTooLarge> => {
  const format = formatOf(bytes)
  if (format === undefined) return invalid("'image' must be a PNG, JPEG or WebP file.")
  const header = headerReaders[format](bytes)
  if (header === "animated") return invalid("'image' is animated. Send a still image.")
  if (header === undefined)
    return invalid(`'image' begins like a ${format.toUpperCase()} file, but its header is malformed.`)
  const { widthPx, heightPx } = header
  if (!isWithinLimits(widthPx, heightPx)) {
    const message =
      `'image' has ${widthPx}x${heightPx} pixels. An edge can have at most ${MAX_EDGE_PX} pixels, ` +
      `and the whole image at most ${MAX_AREA_PX} pixels.`
    return Either.left(new ImageTooLarge({ message }))
  }
  return Either.right({ format, widthPx, heightPx, bytes })
}

const invalid = (message: string) => Either.left(new InvalidRequest({ message, param: "image" }))

const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1")
const JPEG = Buffer.from([0xff, 0xd8, 0xff])

const formatOf = (bytes: Buffer): SourceFormat | undefined => {
  if (bytes.subarray(0, PNG.length).equals(PNG)) return "png"
  if (bytes.subarray(0, JPEG.length).equals(JPEG)) return "jpeg"
  return textAt(bytes, 0) === "RIFF" && textAt(bytes, 8) === "WEBP" ? "webp" : undefined
}

interface Dimensions {
  readonly widthPx: number
  readonly heightPx: number
}

/** The dimensions of a still image, `"animated"` for an animation, or undefined for a malformed file. */
type Header = Dimensions | "animated" | undefined

/** Returns the dimensions, or undefined if an edge has 0 pixels. */
const dimensions = (widthPx: number, heightPx: number): Dimensions | undefined =>
  widthPx > 0 && heightPx > 0 ? { widthPx, heightPx } : undefined

const textAt = (bytes: Buffer, at: number): string => bytes.toString("latin1", at, at + 4)

/** Reads the chunks up to the first image data (`IDAT`). An animation must be declared (`acTL`) before that chunk. */
const readPngHeader = (bytes: Buffer): Header => {
  const first = PNG.length
  if (bytes.length < first + 25 || textAt(bytes, first + 4) !== "IHDR" || bytes.readUInt32BE(first) !== 13) {
    return undefined
  }
  for (let at = first; at + 8 <= bytes.length; at += bytes.readUInt32BE(at) + 12) {
    const kind = textAt(bytes, at + 4)
    if (kind === "acTL") return "animated"
    if (kind === "IDAT") return dimensions(bytes.readUInt32BE(first + 8), bytes.readUInt32BE(first + 12))
  }
  return undefined
}

const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
/** Returns true for the markers TEM and RST, after which no length follows. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)
const isEndOfHeader = (marker: number): boolean => marker === 0xd8 || marker === 0xd9 || marker === 0xda

/** Reads the segments up to the start of the frame, which contains the dimensions. */
const readJpegHeader = (bytes: Buffer): Header => {
  let at = 2
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1] as number
    // Fill bytes 0xff can precede a marker.
    if (marker === 0xff) at += 1
    else if (isBare(marker)) at += 2
    else if (isEndOfHeader(marker)) return undefined
    else if (isFrame(marker)) {
      return at + 9 <= bytes.length ? dimensions(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)) : undefined
    } else {
      const length = bytes.readUInt16BE(at + 2)
      if (length < 2) return undefined
      at += 2 + length
    }
  }
  return undefined
}

const ANIMATED = 0x02
/** The minimum number of bytes of the image data. These first bytes contain the dimensions. */
const MIN_IMAGE_BYTES = { "VP8 ": 10, VP8L: 5 } as const

/** Reads the chunks up to the image data. If the file declares a canvas, the image must have the same dimensions. */
const readWebpHeader = (bytes: Buffer): Header => {
  let canvas: Dimensions | undefined
  for (let at = 12; at + 18 <= bytes.length; at += 8 + even(bytes.readUInt32LE(at + 4))) {
    const kind = textAt(bytes, at)
    if (kind === "ANIM" || kind === "ANMF") return "animated"
    if (kind === "VP8X") {
      if (((bytes[at + 8] as number) & ANIMATED) !== 0) return "animated"
      canvas = dimensions(bytes.readUIntLE(at + 12, 3) + 1, bytes.readUIntLE(at + 15, 3) + 1)
    } else if (kind === "VP8 " || kind === "VP8L") {
      if (bytes.readUInt32LE(at + 4) < MIN_IMAGE_BYTES[kind]) return undefined
      const image = kind === "VP8 " ? lossy(bytes, at + 8) : lossless(bytes, at + 8)
      const agrees = canvas?.widthPx === image?.widthPx && canvas?.heightPx === image?.heightPx
      return canvas === undefined || agrees ? image : undefined
    }
  }
  return undefined
}

const even = (length: number): number => length + (length % 2)

const lossy = (bytes: Buffer, at: number): Dimensions | undefined =>
  bytes[at + 3] === 0x9d && bytes[at + 4] === 0x01 && bytes[at + 5] === 0x2a
    ? dimensions(bytes.readUInt16LE(at + 6) & 0x3fff, bytes.readUInt16LE(at + 8) & 0x3fff)
    : undefined

const lossless = (bytes: Buffer, at: number): Dimensions | undefined => {
  if (bytes[at] !== 0x2f) return undefined
  const packed = bytes.readUInt32LE(at + 1)
  return dimensions((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1)
}

const headerReaders: { readonly [Format in SourceFormat]: (bytes: Buffer) => Header } = {
  png: readPngHeader,
  jpeg: readJpegHeader,
  webp: readWebpHeader
}
