/**
 * Selects evenly spaced pieces of the text in a large body, while the body is scanned. The tokens of a text that is too
 * large to count are estimated from these pieces.
 *
 * The number of pieces is bounded: when all places are used, every second piece is dropped and the minimum distance is
 * at least doubled. The dropped half is chosen at random, so a client cannot predict the counted pieces of its text.
 */
import { randomInt } from "node:crypto"
import { BACKSLASH } from "./JsonEscapes.ts"

const MAX_PIECES = 256
const PIECE_BYTES = 1024
/** The maximum number of backslashes before a piece that are read to find the beginning of their run. */
const MAX_BACKSLASHES = 64
const LOWER_U = 0x75

interface Piece {
  /** The position after the opening quote of the string. */
  readonly start: number
  /** The position of the closing quote of the string. */
  readonly end: number
  readonly at: number
}

export class TextSamples {
  #pieces: Array<Piece> = []
  /** The minimum distance between two values of `#next`, in text bytes. */
  #distance = 1
  /**
   * The next piece contains this position, which is a number of text bytes. The piece begins there, or at the beginning
   * of its value if the whole value is one piece.
   */
  #next = 0

  /**
   * Adds a string value, before which the body has `textBefore` bytes of text. `textBytes` is the decoded size of the
   * value.
   */
  add(start: number, end: number, textBefore: number, textBytes: number): void {
    const isOnePiece = end - start <= PIECE_BYTES
    while (this.#next < textBefore + textBytes) {
      const share = (this.#next - textBefore) / textBytes
      const at = isOnePiece ? start : start + Math.floor((end - start) * share)
      this.#pieces.push({ start, end, at })
      const pieceEnd = isOnePiece ? textBefore + textBytes : this.#next + PIECE_BYTES
      this.#next = Math.max(pieceEnd, this.#next + this.#distance)
      if (this.#pieces.length === MAX_PIECES) this.#dropHalf()
    }
  }

  #dropHalf(): void {
    const kept = randomInt(2)
    this.#pieces = this.#pieces.filter((_, i) => i % 2 === kept)
    this.#distance = 2 * Math.max(this.#distance, this.#next / MAX_PIECES)
  }

  /** Returns the pieces between two positions of the body, joined to one text. */
  textBetween(bytes: Buffer, start: number, end: number): string {
    return this.#pieces
      .filter((piece) => piece.start >= start && piece.end <= end)
      .map((piece) => pieceText(bytes, piece))
      .join("")
  }
}

const pieceText = (bytes: Buffer, piece: Piece): string => {
  const start = characterStart(bytes, piece)
  if (start === undefined) return "\\".repeat(PIECE_BYTES / 2)
  let end = start
  while (end < piece.end && end - start < PIECE_BYTES) {
    end += bytes[end] !== BACKSLASH ? 1 : bytes[end + 1] === LOWER_U ? 6 : 2
  }
  while (end < piece.end && isContinuation(bytes[end])) end++
  return JSON.parse(`"${bytes.toString("utf8", start, end)}"`)
}

/**
 * Returns the position of the first whole character or escape at or after the piece's position. Returns undefined if
 * the piece begins in a run of backslashes that is longer than a piece.
 */
const characterStart = (bytes: Buffer, { start, at, end }: Piece): number | undefined => {
  // An escape has at most six bytes, so an escape around `at` begins at most five bytes earlier.
  let backslash = Math.max(start, at - 5)
  while (backslash < at && bytes[backslash] !== BACKSLASH) backslash++
  let i: number | undefined = backslash
  const first = Math.max(start, backslash - MAX_BACKSLASHES)
  while (i > first && bytes[i - 1] === BACKSLASH) i--
  if (i > start && bytes[i - 1] === BACKSLASH) i = afterRun(bytes, backslash)
  if (i === undefined) return undefined
  while (i < at && i < end) i += bytes[i] !== BACKSLASH ? 1 : bytes[i + 1] === LOWER_U ? 6 : 2
  while (i < end && isContinuation(bytes[i])) i++
  return Math.min(i, end)
}

/**
 * Returns a position after the run of backslashes at `position` that is inside no escape. The last backslash may escape
 * the next character, so the position is after this character, or after the digits if it is the `u` of `uXXXX`. Returns
 * undefined if the run is longer than a piece.
 */
const afterRun = (bytes: Buffer, position: number): number | undefined => {
  let i = position
  while (bytes[i] === BACKSLASH) if (++i - position > PIECE_BYTES) return undefined
  return i + (/^u[0-9a-f]{4}/i.test(bytes.toString("latin1", i, i + 5)) ? 5 : 1)
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
