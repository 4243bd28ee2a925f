/**
 * Makes small valid image files with a colour gradient, in the three formats that image models return.
 */
import { createHash } from "node:crypto"
import { deflateSync } from "node:zlib"
import { crc32 } from "@tollgate/domain/customer/ApiKey"

export type PictureFormat = "png" | "jpeg" | "webp"

export interface PictureWish {
  readonly format: PictureFormat
  /** The requested width. Width and height determine only the proportions of a PNG image; every image is small. */
  readonly widthPx: number
  readonly heightPx: number
  readonly transparent: boolean
  /** The prompt. It determines the colours of a PNG image. */
  readonly words: string
}

/**
 * The JPEG and the WebP image are constants, because the simulator has no encoder for these formats. Each shows a
 * gradient of 48 by 32 pixels from green to yellow.
 */
const JPEG =
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKBTmCNl4x9ln" +
  "N+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHz/wAARCAAgADADASIA" +
  "AhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAAAwIBBf/EABYQAAMAAAAAAAAAAAAAAAAAAAABAv/EABUBAQEAAAAAAAAAAAAAAAAAAAME/8QAFhEAAw" +
  "AAAAAAAAAAAAAAAAAAAAEC/9oADAMBAAIRAxEAPwDnyhJRkoWUFTJJRsoWUZKElAUyiUVKFlEyhZQNMeUcqULKJlCyimmSyipQsomULKAplEoqUJKM" +
  "lCygKZRKP//Z"
const WEBP =
  "UklGRmYAAABXRUJQVlA4IFoAAABwBACdASowACAAPu1wrFKzpjKrpWsycB2JYgCpJ9nLDr8Ah/OvbbnMD+v/YAD+4SVYLBGfJu6u8Xyf8gmBkNf9aaZp" +
  "D2QNTLmVRpq0lRgDumWIzAGiiCA7gAA="

export const pictureOf = (wish: PictureWish): string => {
  switch (wish.format) {
    case "png":
      return png(wish).toString("base64")
    case "jpeg":
      return JPEG
    case "webp":
      return WEBP
  }
}

const LONGER_EDGE_PX = 256
const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1")
const EIGHT_BITS = 8
const RGBA = 6

/** Draws a PNG image: a gradient between two colours that depend on the prompt. */
const png = ({ widthPx, heightPx, transparent, words }: PictureWish): Buffer => {
  const scale = LONGER_EDGE_PX / Math.max(widthPx, heightPx)
  const width = Math.max(1, Math.round(widthPx * scale))
  const height = Math.max(1, Math.round(heightPx * scale))
  const colours = createHash("sha256").update(words).digest()
  const lines = Buffer.alloc(height * (1 + width * 4))
  for (let y = 0, at = 0; y < height; y++) {
    at += 1
    for (let x = 0; x < width; x++, at += 4) {
      const share = (x + y) / (width + height)
      for (let channel = 0; channel < 3; channel++) {
        lines[at + channel] = (1 - share) * (colours[channel] ?? 0) + share * (colours[channel + 3] ?? 0)
      }
      lines[at + 3] = transparent ? 255 * share : 255
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(EIGHT_BITS, 8)
  header.writeUInt8(RGBA, 9)
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0))
  ])
}

/** Encodes a PNG chunk: length, type, content and checksum. */
export const chunk = (kind: string, content: Buffer): Buffer => {
  const whole = Buffer.alloc(12 + content.length)
  whole.writeUInt32BE(content.length, 0)
  whole.write(kind, 4, "latin1")
  content.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + content.length)), 8 + content.length)
  return whole
}
