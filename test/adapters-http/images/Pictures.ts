/**
 * Builds files with valid image headers, and multipart forms that contain such files.
 */
import { chunk } from "@tollgate/simulators/images/SimulatedPicture"

const bytes = (text: string) => Buffer.from(text, "latin1")

/** Returns a PNG file. The chunks in `between` are between its header and its image data. */
export const aPng = (width = 2, height = 3, ...between: ReadonlyArray<readonly [string, Buffer]>): Buffer => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 6], 8)
  const chunks = between.map(([kind, content]) => chunk(kind, content))
  return Buffer.concat([
    bytes("\x89PNG\r\n\x1a\n"),
    chunk("IHDR", header),
    ...chunks,
    chunk("IDAT", Buffer.alloc(9)),
    chunk("IEND", Buffer.alloc(0))
  ])
}

export const aJpeg = (width = 2, height = 3, frame = 0xc0): Buffer => {
  const segment = (marker: number, content: ReadonlyArray<number>) => [
    0xff,
    marker,
    (content.length + 2) >> 8,
    (content.length + 2) & 0xff,
    ...content
  ]
  const size = [8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0]
  return Buffer.from([
    ...[0xff, 0xd8],
    ...segment(0xe0, [...bytes("JFIF\0")]),
    ...[0xff, 0xff],
    ...segment(
      0xdb,
      Array.from({ length: 65 }, () => 1)
    ),
    ...segment(0xc4, [0, 1, 2]),
    ...segment(frame, size),
    ...segment(0xda, [1, 2, 3]),
    ...[0x00, 0xff, 0xd9]
  ])
}

const riffChunk = (kind: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.write(kind, 0, "latin1")
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)])
}

export const riff = (...chunks: ReadonlyArray<readonly [string, Buffer]>): Buffer =>
  riffChunk("RIFF", Buffer.concat([bytes("WEBP"), ...chunks.map(([kind, content]) => riffChunk(kind, content))]))

export const lossy = (width: number, height: number): Buffer => {
  const frame = Buffer.alloc(24)
  frame.set([0x30, 1, 0, 0x9d, 1, 0x2a])
  frame.writeUInt16LE(width, 6)
  frame.writeUInt16LE(height, 8)
  return frame
}

export const lossless = (width: number, height: number): Buffer => {
  const frame = Buffer.alloc(24)
  frame[0] = 0x2f
  frame.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1)
  return frame
}

export const canvas = (width: number, height: number, flags = 0): Buffer => {
  const content = Buffer.alloc(10)
  content[0] = flags
  content.writeUIntLE(width - 1, 4, 3)
  content.writeUIntLE(height - 1, 7, 3)
  return content
}

export const aWebp = (width = 2, height = 3): Buffer => riff(["VP8 ", lossy(width, height)])

export interface Part {
  readonly name: string
  readonly value: string | Buffer
  readonly filename?: string
  readonly headers?: ReadonlyArray<string>
}

export const BOUNDARY = "----boundary-of-the-test--"

export const aForm = (...parts: ReadonlyArray<Part>): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name, value, filename, headers = [] }) => [
      Buffer.from(
        [
          `--${BOUNDARY}`,
          `Content-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}`,
          ...headers,
          "",
          ""
        ].join("\r\n")
      ),
      Buffer.from(value),
      Buffer.from("\r\n")
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`)
  ])

export const model: Part = { name: "model", value: "painter" }
export const prompt: Part = { name: "prompt", value: "a cat\r\nand a 🦊" }
export const image = (value: Buffer = aPng(), name = "image"): Part => ({
  name,
  value,
  filename: "private name.gif",
  headers: ["Content-Type: application/octet-stream"]
})
