/**
 * Text that is safe to show: a name out of a database or a file must not move the cursor, paint the screen or turn the
 * direction of what is written.
 */

// Control characters, and the invisible ones that reorder a line.
const UNSAFE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** One line: line breaks are escaped too. */
export const printableLine = (text: string): string => text.replace(UNSAFE, escape)

/** Several lines. */
export const printable = (text: string): string => text.split("\n").map(printableLine).join("\n")
