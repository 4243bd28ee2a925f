/**
 * Reads a QR code off the picture of it, as a payer's phone does.
 */
import jsQR from "jsqr"

const SCALE = 4

/** What the code of an SVG of squares says; undefined when nobody can read it. */
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

/** How many squares of white stand between the code and the edges of its picture. */
export const quietZoneOf = (svg: string): number => {
  const [, x, , side] = /M(\d+),(\d+)h(\d+)/.exec(svg) ?? []
  return Number(x) / Number(side)
}
