/**
 * Compares a member name in the bytes of a body with the names to find, and reports exact and near matches.
 *
 * Escapes are decoded before the comparison. A near match differs only in case, and is reported because some parsers
 * ignore case. Some of these parsers also read the long s (U+017F) as `s` and the Kelvin sign (U+212A) as `k`, so such
 * names are near matches too.
 */

export const NO_MATCH = -1
/** The size of the escape `\u0061`, the longest way to write a character. */
const MAX_BYTES_PER_CHARACTER = 6

export class MemberNames {
  readonly names: ReadonlyArray<string>
  readonly #bytes: ReadonlyArray<Buffer>
  readonly #maxBytes: number

  /** Takes the names to find, which must be lower-case ASCII. */
  constructor(names: ReadonlyArray<string>) {
    this.names = names
    this.#bytes = names.map((name) => Buffer.from(name))
    this.#maxBytes = MAX_BYTES_PER_CHARACTER * Math.max(0, ...names.map((name) => name.length))
  }

  /** Returns the index of the matching name, {@link nearMatch} of that index for a near match, or {@link NO_MATCH}. */
  find(bytes: Buffer, start: number, end: number): number {
    if (end - start > this.#maxBytes) return NO_MATCH
    for (let i = start; i < end; i++) if (isNotPlain(bytes[i] as number)) return this.#findUnescaped(bytes, start, end)
    for (let index = 0; index < this.#bytes.length; index++) {
      const name = this.#bytes[index] as Buffer
      if (name.length !== end - start) continue
      const likeness = compare(name, bytes, start)
      if (likeness !== "different") return likeness === "same" ? index : nearMatch(index)
    }
    return NO_MATCH
  }

  #findUnescaped(bytes: Buffer, start: number, end: number): number {
    const decoded: string = JSON.parse(`"${bytes.toString("utf8", start, end)}"`)
    const exact = this.names.indexOf(decoded)
    if (exact >= 0) return exact
    const near = this.names.indexOf(decoded.replaceAll("ſ", "s").toLowerCase())
    return near >= 0 ? nearMatch(near) : NO_MATCH
  }
}

/** Encodes the index of a near match as a negative number, and decodes that number back to the index. */
export const nearMatch = (index: number): number => -2 - index

const isNotPlain = (byte: number): boolean => byte >= 0x80 || byte === 0x5c

const compare = (name: Buffer, bytes: Buffer, start: number): "same" | "near" | "different" => {
  let same = true
  for (let i = 0; i < name.length; i++) {
    const wanted = name[i] as number
    const byte = bytes[start + i] as number
    if (byte === wanted) continue
    // This bit distinguishes lower case from upper case. Setting it turns an upper-case letter into the
    // lower-case letter, and turns no other byte into a letter.
    if ((byte | 0x20) !== wanted) return "different"
    same = false
  }
  return same ? "same" : "near"
}
