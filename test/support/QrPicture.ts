/**
 * Decodes the image of a QR code, as a payer's phone does.
 */
import jsQR from "jsqr"

const SCALE = 4

/** Decodes the QR code in an SVG that draws each dark module as a square. Returns undefined when decoding fails. */
export const readQrPicture = (svg: string): string | undefined => {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1])
  const squares = [...svg.matchAll(/M(\d+),(\d+)h(\d+)/g)].map(([, x, y, side]) => [Number(x), Number(y), Number(side)])
  const side = squares[0]?.[2] ?? 1
  const width = (size / side) * SCALE
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255)
  for (const [x = 0, y = 0] of squares) {
    for (let i = 0; i < SCALE * SCALE; i++) {
      const column = (x / side) * SCALE + (i % SCALE)
      const row = (y / side) * SCALE + Math.floor(i / SCALE)
      pixels.fill(0, (row * width + column) * 4, (row * width + column) * 4 + 3)
    }
  }
  return jsQR.default(pixels, width, width)?.data
}

/** The width of the quiet zone around the code, in modules. */
export const quietZoneOf = (svg: string): number => {
  const [, x, , side] = /M(\d+),(\d+)h(\d+)/.exec(svg) ?? []
  return Number(x) / Number(side)
}
