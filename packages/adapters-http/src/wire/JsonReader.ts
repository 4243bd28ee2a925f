/**
 * Reads JSON (RFC 8259, nothing more lenient) as bytes, from one position to the next, without building values.
 *
 * A reading method is told where something begins and returns where it ends, or -1 after noting where it went wrong.
 * Strings are reported to a {@link BodySize} on the way. Nothing here calls itself, so no nesting can exhaust the
 * stack.
 */
import type { BodySize } from "./BodySize.ts"

/** Requests nest a few levels; more than this is an attack on somebody's parser. */
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

/** What is open around a position. Shared by all readers: a reading is done before another begins. */
const NESTING = new Uint8Array(MAX_DEPTH)

export class JsonReader {
  readonly bytes: Buffer
  readonly size: BodySize
  wrongAt = 0
  tooDeep = false
  /** Where the last name of a member ended, before its quote. */
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

  wrong(at: number): -1 {
    this.wrongAt = Math.min(at, this.#length)
    return -1
  }

  /** Where something other than white space begins. */
  space(at: number): number {
    let i = at
    while (i < this.#length) {
      const byte = this.bytes[i]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      i++
    }
    return i
  }

  /** The name and the colon of a member: where its value begins. */
  name(at: number): number {
    if (this.bytes[at] !== QUOTE) return this.wrong(at)
    const end = this.#string(at)
    if (end < 0) return -1
    this.nameEnd = end - 1
    const colon = this.space(end)
    return this.bytes[colon] === COLON ? this.space(colon + 1) : this.wrong(colon)
  }

  /** A whole value inside `depthAbove` others. `nameStart` is where its member's name stands, -1 if it has none. */
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
        const inside = this.space(i + 1)
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
      // A value has ended at `i`: close what it was the last of, then go on to the next one.
      for (;;) {
        if (depth === depthAbove) return i
        const inObject = isObject[depth - 1] === 1
        i = this.space(i)
        if (bytes[i] === COMMA) {
          const after = this.space(i + 1)
          name = inObject ? after + 1 : -1
          i = inObject ? this.name(after) : after
          if (i < 0) return -1
          break
        }
        if (bytes[i] !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.wrong(i)
        depth--
        i++
      }
    }
  }

  #refuseDepth(at: number): -1 {
    this.tooDeep = true
    return this.wrong(at)
  }

  #scalar(at: number, first: number | undefined): number {
    if (first === TRUE[0]) return this.#word(at, TRUE)
    if (first === FALSE[0]) return this.#word(at, FALSE)
    return first === NULL[0] ? this.#word(at, NULL) : this.#number(at)
  }

  #word(at: number, word: Buffer): number {
    for (let i = 0; i < word.length; i++) if (this.bytes[at + i] !== word[i]) return this.wrong(at + i)
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
    return i === at ? this.wrong(i) : i
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
      if (bytes[i] !== BACKSLASH) return this.wrong(i)
      const escape = bytes[i + 1] ?? 0
      if (isEscapable[escape] === 1) {
        surplus += 1
        i = this.#plain(i + 2)
      } else {
        if (escape !== 0x75) return this.wrong(i + 1)
        for (let digit = i + 2; digit < i + 6; digit++) if (isHex[bytes[digit] ?? 0] !== 1) return this.wrong(digit)
        surplus += surplusOf(Number.parseInt(bytes.toString("latin1", i + 2, i + 6), 16))
        i = this.#plain(i + 6)
      }
    }
    return this.wrong(i)
  }

  /**
   * Where the next byte stands that is a quote, a backslash or a control character. Looks at four bytes at a time:
   * the subtraction sets the highest bit of a byte that matches (and at times of one above it, which is why the four
   * in question are then looked at one by one).
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

/** `\uXXXX` takes six bytes for a character of one to three; each half of a pair stands for two. */
const surplusOf = (codeUnit: number): number => {
  if (codeUnit < 0x80) return 5
  return codeUnit < 0x800 || (codeUnit >= 0xd800 && codeUnit < 0xe000) ? 4 : 3
}
