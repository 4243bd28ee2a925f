/**
 * `ChunkTemplate` recognises the chunks of a stream that differ from an earlier chunk only in the text of the delta.
 * Nearly all chunks of an ordinary stream are such chunks. Their text is found without parsing the chunk, because
 * parsing takes most of the time of a translation.
 */
import { asArray, asObject } from "@tollgate/domain/inference/Json"

/** The maximum number of attempts to make a template before a chunk matches it. Each attempt parses a chunk again. */
const MAX_ATTEMPTS = 4
/** The maximum length of a chunk that becomes a template, because each stream stores its template. */
const MAX_LENGTH = 4_096
/**
 * Matches the characters that JSON escapes, and other control characters. A chunk with one of them in its text is
 * parsed.
 */
const SPECIAL = /["\\\p{Cc}]/u
/** Replaces the text while the place of the text is checked. A chunk with exactly this text becomes no template. */
const PROBE = "\u2047tollgate\u2047"

export class ChunkTemplate {
  /** The parts of the chunk before and after the text; undefined if there is no template. */
  #parts: { readonly before: string; readonly after: string } | undefined
  #attemptsLeft = MAX_ATTEMPTS

  /** Returns the text of a chunk that matches the template; undefined if the chunk must be parsed. */
  textIn(chunk: string): string | undefined {
    if (this.#parts === undefined) return undefined
    const { after, before } = this.#parts
    const end = chunk.length - after.length
    // Comparing slices is faster than `startsWith` and `endsWith`.
    if (end <= before.length || chunk.slice(0, before.length) !== before || chunk.slice(end) !== after) return undefined
    const text = copyOf(chunk.slice(before.length, end))
    if (SPECIAL.test(text)) return undefined
    this.#attemptsLeft = MAX_ATTEMPTS
    return text
  }

  /** False after too many attempts without a chunk that matched. */
  get canLearn(): boolean {
    return this.#attemptsLeft > 0
  }

  /** Tries to make a template from a chunk whose only output is this text. */
  learn(chunk: string, text: string): void {
    if (chunk.length > MAX_LENGTH || text === PROBE || SPECIAL.test(text)) return
    this.#attemptsLeft -= 1
    const at = chunk.indexOf(`"${text}"`) + 1
    const before = copyOf(chunk.slice(0, at))
    const after = copyOf(chunk.slice(at + text.length))
    if (at > 0 && isTextOfDelta(before, after)) this.#parts = { before, after }
  }
}

/** Returns a copy of a part of a text. Without the copy, the part would keep the whole text in memory. */
const copyOf = (part: string): string => ` ${part}`.slice(1)

/** Returns whether a string between these two parts of a chunk is the `content` of the first delta. */
const isTextOfDelta = (before: string, after: string): boolean => {
  try {
    const [choice] = asArray(asObject(JSON.parse(before + PROBE + after))?.choices)
    return asObject(asObject(choice)?.delta)?.content === PROBE
  } catch {
    return false
  }
}
