/**
 * Checks the grammar of RFC 8259 in bytes, without building values. Does not check whether the bytes are UTF-8.
 *
 * Each reading method takes the position at which an element begins and returns the position at which the element ends,
 * unless its comment states another result. At a syntax error, the method records the position of the error and returns
 * -1. String values are reported to a {@link BodySize}. No method is recursive, so deep nesting cannot exhaust the
 * stack.
 *
 * A large value can be read in slices: see {@link JsonReader.pauseAt}.
 */
import { type BodySize, PUNCTUATION_BYTES } from "./BodySize.ts"
import { BACKSLASH, codeUnitAt, firstNotHex, isEscapable, surplusOf } from "./JsonEscapes.ts"
import { errorAt, MAX_TOKEN_BYTES, scalarEnd } from "./JsonScalars.ts"

/**
 * Maximum nesting depth. Real requests have a few levels. Deep nesting can exhaust the stack of a recursive parser
 * that reads the same body later.
 */
export const MAX_DEPTH = 512

/** The result of a method that stopped at {@link JsonReader.pauseAt}. */
export const PAUSED = -2
const NEVER = 0x7fffffff
/** The size of a slice in bytes. A slice of the most expensive JSON takes about a millisecond. */
export const SLICE_BYTES = 16 * 1024
/** The size of the first slice, so that a body of ordinary size takes one slice. */
export const FIRST_SLICE_BYTES = 64 * 1024

export const QUOTE = 0x22
export const COMMA = 0x2c
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
const COLON = 0x3a

/**
 * Kind of each open bracket: 1 for an object, 0 for an array. Readers share this array, because its content is needed
 * only until `value` returns. A reader that pauses inside a value gets its own copy.
 */
const NESTING = new Uint8Array(MAX_DEPTH)

export class JsonReader {
  readonly bytes: Buffer
  readonly size: BodySize
  errorAt = 0
  tooDeep = false
  /** Position of the closing quote of the last member name. */
  nameEnd = 0
  /** Number of values that were read. */
  values = 0
  /**
   * Position at which {@link JsonReader.value} pauses: it returns {@link PAUSED}, and {@link JsonReader.continue}
   * continues the value. A reader never pauses unless this position is set.
   */
  pauseAt = NEVER
  sliceBytes = SLICE_BYTES
  readonly #view: DataView
  readonly #length: number
  #isObject = NESTING
  #surplus = 0
  // The state of a paused value.
  #at = 0
  #depth = 0
  #depthAbove = 0
  #name = 0
  /** The position inside a paused string; -1 if the reader did not pause inside a string. */
  #inString = -1

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

  /**
   * Returns the position of the next byte that is not white space. Never pauses: 32 MiB of white space take some 30 ms.
   */
  skipSpace(at: number): number {
    let i = at
    while (i < this.#length) {
      const byte = this.bytes[i]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      i++
    }
    return i
  }

  /** Reads the name and the colon of a member. Returns the position of the member's value. */
  name(at: number): number {
    if (this.bytes[at] !== QUOTE) return this.fail(at)
    const end = this.#string(at + 1, 0, at + MAX_TOKEN_BYTES)
    if (end < 0) return end === PAUSED ? this.fail(this.#inString) : -1
    this.nameEnd = end - 1
    this.size.structureBytes += end - at + 1
    const colon = this.skipSpace(end)
    return this.bytes[colon] === COLON ? this.skipSpace(colon + 1) : this.fail(colon)
  }

  /**
   * Reads a whole value. `depthAbove` is the number of containers around the value. `nameStart` is the position of the
   * member's name after its opening quote, or -1 if the value is not a member.
   */
  value(at: number, depthAbove: number, nameStart: number): number {
    this.#inString = -1
    return this.#read(at, depthAbove, depthAbove, nameStart)
  }

  /** Continues the paused value for another slice. */
  continue(): number {
    this.pauseAt = Math.max(this.#at, this.#inString) + this.sliceBytes
    return this.#read(this.#at, this.#depth, this.#depthAbove, this.#name)
  }

  #pause(at: number, depth: number, depthAbove: number, name: number): number {
    if (this.#isObject === NESTING) this.#isObject = NESTING.slice()
    // The string in which the reader pauses is counted when the reader continues.
    if (this.#inString >= 0) this.values--
    this.#at = at
    this.#depth = depth
    this.#depthAbove = depthAbove
    this.#name = name
    return PAUSED
  }

  #read(at: number, depthAt: number, depthAbove: number, nameStart: number): number {
    const { bytes } = this
    const isObject = this.#isObject
    let depth = depthAt
    let name = nameStart
    let i = at
    for (;;) {
      if (i >= this.pauseAt) return this.#pause(i, depth, depthAbove, name)
      const first = bytes[i]
      this.values++
      if (first === QUOTE) {
        const inString = this.#inString
        const end =
          inString < 0 ? this.#string(i + 1, 0, this.pauseAt) : this.#string(inString, this.#surplus, this.pauseAt)
        if (end < 0) return end === PAUSED ? this.#pause(i, depth, depthAbove, name) : -1
        this.size.addString(bytes, name, name < 0 ? name : this.nameEnd, i + 1, end - 1, this.#surplus)
        i = end
      } else if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
        const opensObject = first === OPEN_OBJECT
        if (depth >= MAX_DEPTH) {
          this.tooDeep = true
          return this.fail(i)
        }
        this.size.structureBytes += PUNCTUATION_BYTES
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
        const end = scalarEnd(bytes, i)
        if (end < 0) return this.fail(errorAt(end))
        this.size.structureBytes += end - i + PUNCTUATION_BYTES
        i = end
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

  /** Reads the items of a container: calls `read` with the position of each item. `read` returns the item's end. */
  items(open: number, close: number, read: (at: number) => number): number {
    let at = this.skipSpace(open + 1)
    while (this.bytes[at] !== close) {
      const end = read(at)
      at = end < 0 ? -1 : this.nextItem(end, close)
      if (at < 0) return -1
    }
    return at + 1
  }

  /** Returns the position of the item after the item that ends at `end`, or of the closing bracket. */
  nextItem(end: number, close: number): number {
    const at = this.skipSpace(end)
    if (this.bytes[at] === close) return at
    if (this.bytes[at] !== COMMA) return this.fail(at)
    const next = this.skipSpace(at + 1)
    return this.bytes[next] === close ? this.fail(next) : next
  }

  /**
   * Reads a string from a position inside it. `surplusBefore` is the surplus of the part before this position. Returns
   * the position after the closing quote, or {@link PAUSED} if the string does not end before `limit`.
   */
  #string(from: number, surplusBefore: number, limit: number): number {
    const { bytes } = this
    let surplus = surplusBefore
    let i = this.#plain(from, limit)
    while (i < this.#length) {
      if (bytes[i] === QUOTE) {
        this.#surplus = surplus
        this.#inString = -1
        return i + 1
      }
      if (i >= limit) {
        this.#surplus = surplus
        this.#inString = i
        return PAUSED
      }
      if (bytes[i] !== BACKSLASH) return this.fail(i)
      const escape = bytes[i + 1] ?? 0
      if (isEscapable[escape] === 1) {
        surplus += 1
        i = this.#plain(i + 2, limit)
      } else {
        if (escape !== 0x75) return this.fail(i + 1)
        const codeUnit = codeUnitAt(bytes, i + 2)
        if (codeUnit < 0) return this.fail(firstNotHex(bytes, i + 2))
        surplus += surplusOf(codeUnit)
        i = this.#plain(i + 6, limit)
      }
    }
    return this.fail(i)
  }

  /**
   * Returns the position of the next quote, backslash or control character, or the end of the search (`limit` or the
   * end of the bytes). Four bytes are tested at a time: the subtraction sets the highest bit of each matching byte. It
   * can also set the highest bit of the byte after a match, so after a match the four bytes are checked one by one.
   */
  #plain(at: number, limit: number): number {
    const view = this.#view
    const end = Math.min(this.#length, limit)
    let i = at
    for (const last = end - 4; i <= last; i += 4) {
      const four = view.getInt32(i, true)
      const quotes = four ^ 0x22222222
      const backslashes = four ^ 0x5c5c5c5c
      const matches =
        (((quotes - 0x01010101) | 0) & ~quotes) |
        (((backslashes - 0x01010101) | 0) & ~backslashes) |
        (((four - 0x20202020) | 0) & ~four)
      if ((matches & 0x80808080) !== 0) break
    }
    while (i < end) {
      const byte = this.bytes[i] as number
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break
      i++
    }
    return i
  }
}
