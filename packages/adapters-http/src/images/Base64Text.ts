/**
 * Validates a base64 string inside a JSON text and computes its decoded length. The string is not decoded.
 *
 * Some JSON encoders write `/` as `\/`, or write `+`, `/` and `=` with the digits of their codes, such as `\u002b`.
 * These escapes are replaced by their characters in place.
 */
import { yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import * as Effect from "effect/Effect"
import { BACKSLASH, codeUnitAt } from "../wire/JsonEscapes.ts"

const SLASH = 0x2f
const LOWER_U = 0x75
const PADDING = 0x3d
/** The number of bytes to read before yielding to the event loop. */
const BYTES_PER_TURN = 1024 * 1024

const ALPHABET = new Uint8Array(256)
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")) ALPHABET[byte] = 1

/** Returns the decoded length of valid base64 without escapes, in bytes. */
export const decodedBytes = (text: Buffer): number => Math.floor(((text.length - paddingOf(text)) * 3) / 4)

/**
 * Returns true for non-empty base64 without escapes, in whole groups of four characters, with padding only at the end.
 */
export const isBase64 = (text: Buffer): Effect.Effect<boolean> =>
  Effect.suspend(() =>
    text.length === 0 || text.length % 4 !== 0
      ? Effect.succeed(false)
      : isInAlphabet(text.subarray(0, text.length - paddingOf(text)), 0)
  )

/**
 * Replaces the escapes of characters of base64 in the memory of the text, and returns the text, which can be shorter
 * then. Other escapes are not replaced, so {@link isBase64} returns false for the text.
 */
export const withoutEscapes = (text: Buffer): Effect.Effect<Buffer> =>
  Effect.suspend(() => {
    const first = text.indexOf(BACKSLASH)
    return first < 0
      ? Effect.succeed(text)
      : Effect.map(unescaped(text, first, first), (length) => text.subarray(0, length))
  })

const paddingOf = (text: Buffer): number => (text.at(-1) !== PADDING ? 0 : text.at(-2) === PADDING ? 2 : 1)

const isInAlphabet = (text: Buffer, from: number): Effect.Effect<boolean> => {
  const end = Math.min(text.length, from + BYTES_PER_TURN)
  for (let i = from; i < end; i++) if (ALPHABET[text[i] as number] !== 1) return Effect.succeed(false)
  return end === text.length ? Effect.succeed(true) : Effect.flatMap(yieldToEventLoop, () => isInAlphabet(text, end))
}

/** Moves the bytes from `from` to `to` without their escapes. Returns the end of the moved bytes. */
const unescaped = (text: Buffer, from: number, to: number): Effect.Effect<number> => {
  const turnEnd = Math.min(text.length, from + BYTES_PER_TURN)
  let [read, write] = [from, to]
  while (read < turnEnd) {
    const byte = text[read] as number
    const escaped = byte === BACKSLASH ? escapedAt(text, read) : byte
    text[write++] = escaped
    read += byte === escaped ? 1 : text[read + 1] === SLASH ? 2 : 6
  }
  return read < text.length
    ? Effect.flatMap(yieldToEventLoop, () => unescaped(text, read, write))
    : Effect.succeed(write)
}

/** Returns the character of base64 that the escape at this position encodes; a backslash for any other escape. */
const escapedAt = (text: Buffer, at: number): number => {
  if (text[at + 1] === SLASH) return SLASH
  const code = text[at + 1] === LOWER_U ? codeUnitAt(text, at + 2) : -1
  return code === PADDING || ALPHABET[code] === 1 ? code : BACKSLASH
}
