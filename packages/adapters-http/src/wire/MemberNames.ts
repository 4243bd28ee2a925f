/**
 * The names of members looked for, and whether a name as it stands in a body is one of them, or nearly.
 *
 * Escapes are undone before comparing. "Nearly" means but for the case of letters, as lenient parsers compare; to
 * some of them the long s and the Kelvin sign are an s and a k as well.
 */

export const NO_MATCH = -1

export class MemberNames {
  readonly names: ReadonlyArray<string>
  readonly #bytes: ReadonlyArray<Buffer>

  /** Plain lower-case ASCII, as all members of the protocols are. */
  constructor(names: ReadonlyArray<string>) {
    this.names = names
    this.#bytes = names.map((name) => Buffer.from(name))
  }

  /** The number of the name that stands there, or {@link NO_MATCH}, or for a near match {@link misspelt} of it. */
  find(bytes: Buffer, start: number, end: number): number {
    for (let i = start; i < end; i++) if (isNotPlain(bytes[i] as number)) return this.#findUnescaped(bytes, start, end)
    for (let index = 0; index < this.#bytes.length; index++) {
      const name = this.#bytes[index] as Buffer
      if (name.length !== end - start) continue
      const likeness = compare(name, bytes, start)
      if (likeness !== "different") return likeness === "same" ? index : misspelt(index)
    }
    return NO_MATCH
  }

  #findUnescaped(bytes: Buffer, start: number, end: number): number {
    const written: string = JSON.parse(`"${bytes.toString("utf8", start, end)}"`)
    const exact = this.names.indexOf(written)
    if (exact >= 0) return exact
    const near = this.names.indexOf(written.replaceAll("ſ", "s").toLowerCase())
    return near >= 0 ? misspelt(near) : NO_MATCH
  }
}

/** Marks a near match; applied again, tells which name it is of. */
export const misspelt = (index: number): number => -2 - index

const isNotPlain = (byte: number): boolean => byte >= 0x80 || byte === 0x5c

const compare = (name: Buffer, bytes: Buffer, start: number): "same" | "near" | "different" => {
  let same = true
  for (let i = 0; i < name.length; i++) {
    const wanted = name[i] as number
    const byte = bytes[start + i] as number
    if (byte === wanted) continue
    // This bit is what sets lower case apart; no other character becomes a letter by it.
    if ((byte | 0x20) !== wanted) return "different"
    same = false
  }
  return same ? "same" : "near"
}
