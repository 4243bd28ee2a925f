/**
 * Replaces characters that can falsify a log line or the output in a terminal. A text of a provider, a client or a file
 * must not add a line, move the cursor, change colours or reverse the direction of the text.
 */

/** Matches control characters, and invisible characters that end a line or change the direction of a text. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

export const replaceUnsafe = (text: string, replacement: (character: string) => string): string =>
  text.replace(UNSAFE, replacement)
