/**
 * Reads JSON (strictly RFC 8259) from bytes without building values.
 *
 * Each reading method takes the position at which an element begins and returns the position at which the element ends.
 * At a syntax error, the method records the position of the error and returns -1. String values are reported to a
 * {@link BodySize}. No method is recursive, so deep nesting cannot exhaust the stack.
 */
import type { BodySize } from "./BodySize.ts"

/**
 * Maximum nesting depth. Real requests have a few levels. Deep nesting can exhaust the stack of a recursive parser
 * that reads the same body later.
 */
export const MAX_DEPTH = 512

export const QUOTE = 0x22
export const COMMA = 0x2c
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
const COLON = 0x3a
const BACKSLASH = 0x5c
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30

const TRUE = Buffer.from("true")
const FALSE = Buffer.from("false")
const NULL = Buffer.from("null")

const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) table[byte] = 1
  return table
}
const isEscapable = tableOf('"\\/bfnrt')
const isHex = tableOf("0123456789abcdefABCDEF")

/**
 * Kind of each open bracket: 1 for an object, 0 for an array. All readers share this array, because a scan is
 * synchronous and ends before the next scan begins.
 */
const NESTING = new Uint8Array(MAX_DEPTH)

export class JsonReader {
  readonly bytes: Buffer
  readonly size: BodySize
  errorAt = 0
  tooDeep = false
  /** Position of the closing quote of the last member name. */
  nameEnd = 0
  readonly #view: DataView
  readonly #length: number
  readonly #isObject = NESTING
  #surplus = 0

  constructor(bytes: Buffer, size: BodySize) {
    this.bytes = bytes
    this.size = size
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#length = bytes.length
  }

  fail(at: number): -1 {
    this.errorAt = Math.min(at, this.#length)
    return -1
  }

  /** Returns the position of the next byte that is not white space. */
  skipSpace(at: number): number {
    let i = at
    while (i < this.#length) {
      const byte = this.bytes[i]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      i++
    }
    return i
  }

  /** Reads the name and the colon of a member; returns the position of the member's value. */
  name(at: number): number {
    if (this.bytes[at] !== QUOTE) return this.fail(at)
    const end = this.#string(at)
    if (end < 0) return -1
    this.nameEnd = end - 1
    const colon = this.skipSpace(end)
    return this.bytes[colon] === COLON ? this.skipSpace(colon + 1) : this.fail(colon)
  }

  /**
   * Reads a whole value. `depthAbove` is the number of containers around the value. `nameStart` is the position of the
   * member's name after its opening quote, or -1 if the value is not a member.
   */
  value(at: number, depthAbove: number, nameStart: number): number {
    const { bytes } = this
    const isObject = this.#isObject
    let depth = depthAbove
    let name = nameStart
    let i = at
    for (;;) {
      const first = bytes[i]
      if (first === QUOTE) {
        const end = this.#string(i)
        if (end < 0) return -1
        this.size.addString(bytes, name, name < 0 ? name : this.nameEnd, i + 1, end - 1, this.#surplus)
        i = end
      } else if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
        const opensObject = first === OPEN_OBJECT
        if (depth >= MAX_DEPTH) return this.#refuseDepth(i)
        const inside = this.skipSpace(i + 1)
        if (bytes[inside] !== (opensObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          isObject[depth++] = opensObject ? 1 : 0
          name = opensObject ? inside + 1 : -1
          i = opensObject ? this.name(inside) : inside
          if (i < 0) return -1
          continue
        }
        i = inside + 1
      } else {
        i = this.#scalar(i, first)
        if (i < 0) return -1
      }
      // A value has ended at `i`. Close the containers that end after it, then continue with the next value.
      for (;;) {
        if (depth === depthAbove) return i
        const inObject = isObject[depth - 1] === 1
        i = this.skipSpace(i)
        if (bytes[i] === COMMA) {
          const after = this.skipSpace(i + 1)
          name = inObject ? after + 1 : -1
          i = inObject ? this.name(after) : after
          if (i < 0) return -1
          break
        }
        if (bytes[i] !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.fail(i)
        depth--
        i++
      }
    }
  }

  /** Reads the items of a container: calls `read` with the position of each item; `read` returns the item's end. */
  items(open: number, close: number, read: (at: number) => number): number {
    let at = this.skipSpace(open + 1)
    if (this.bytes[at] === close) return at + 1
    for (;;) {
      const end = read(at)
      if (end < 0) return -1
      const next = this.skipSpace(end)
      if (this.bytes[next] === close) return next + 1
      if (this.bytes[next] !== COMMA) return this.fail(next)
      at = this.skipSpace(next + 1)
    }
  }

  #refuseDepth(at: number): -1 {
    this.tooDeep = true
    return this.fail(at)
  }

  #scalar(at: number, first: number | undefined): number {
    if (first === TRUE[0]) return this.#word(at, TRUE)
    if (first === FALSE[0]) return this.#word(at, FALSE)
    return first === NULL[0] ? this.#word(at, NULL) : this.#number(at)
  }

  #word(at: number, word: Buffer): number {
    for (let i = 0; i < word.length; i++) if (this.bytes[at + i] !== word[i]) return this.fail(at + i)
    return at + word.length
  }

  #number(at: number): number {
    const { bytes } = this
    const whole = bytes[at] === MINUS ? at + 1 : at
    let i = bytes[whole] === ZERO ? whole + 1 : this.#digits(whole)
    if (i < 0) return -1
    if (bytes[i] === POINT) i = this.#digits(i + 1)
    if (i < 0) return -1
    if (bytes[i] !== 0x65 && bytes[i] !== 0x45) return i
    const signed = bytes[i + 1] === MINUS || bytes[i + 1] === PLUS
    return this.#digits(signed ? i + 2 : i + 1)
  }

  #digits(at: number): number {
    let i = at
    while (i < this.#length) {
      const byte = this.bytes[i] as number
      if (byte < 0x30 || byte > 0x39) break
      i++
    }
    return i === at ? this.fail(i) : i
  }

  #string(at: number): number {
    const { bytes } = this
    let surplus = 0
    let i = this.#plain(at + 1)
    while (i < this.#length) {
      if (bytes[i] === QUOTE) {
        this.#surplus = surplus
        return i + 1
      }
      if (bytes[i] !== BACKSLASH) return this.fail(i)
      const escape = bytes[i + 1] ?? 0
      if (isEscapable[escape] === 1) {
        surplus += 1
        i = this.#plain(i + 2)
      } else {
        if (escape !== 0x75) return this.fail(i + 1)
        for (let digit = i + 2; digit < i + 6; digit++) if (isHex[bytes[digit] ?? 0] !== 1) return this.fail(digit)
        surplus += surplusOf(Number.parseInt(bytes.toString("latin1", i + 2, i + 6), 16))
        i = this.#plain(i + 6)
      }
    }
    return this.fail(i)
  }

  /**
   * Returns the position of the next quote, backslash or control character. Four bytes are tested at a time: the
   * subtraction sets the highest bit of each matching byte. It can also set the highest bit of the byte after a match,
   * so after a match the four bytes are checked one by one.
   */
  #plain(at: number): number {
    const view = this.#view
    const length = this.#length
    let i = at
    for (const last = length - 4; i <= last; i += 4) {
      const four = view.getInt32(i, true)
      const quotes = four ^ 0x22222222
      const backslashes = four ^ 0x5c5c5c5c
      const matches =
        (((quotes - 0x01010101) | 0) & ~quotes) |
        (((backslashes - 0x01010101) | 0) & ~backslashes) |
        (((four - 0x20202020) | 0) & ~four)
      if ((matches & 0x80808080) !== 0) break
    }
    while (i < length) {
      const byte = this.bytes[i] as number
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break
      i++
    }
    return i
  }
}

/**
 * Returns the number of bytes by which `\uXXXX` (six bytes) is longer than the character that it encodes. In UTF-8,
 * such a character has one to three bytes, and each half of a surrogate pair counts as two bytes.
 */
const surplusOf = (codeUnit: number): number => {
  if (codeUnit < 0x80) return 5
  return codeUnit < 0x800 || (codeUnit >= 0xd800 && codeUnit < 0xe000) ? 4 : 3
}
