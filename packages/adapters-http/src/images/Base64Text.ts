/**
 * Validates a base64 string inside a JSON text and computes its decoded length. The string is not decoded.
 *
 * Some JSON encoders write a slash as `\/`. This escape is accepted and left unchanged.
 */
import { yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import * as Effect from "effect/Effect"

const BACKSLASH = 0x5c
const SLASH = 0x2f
const PADDING = 0x3d
/** The number of bytes to check before yielding to the event loop. */
const BYTES_PER_TURN = 1024 * 1024

const ALPHABET = new Uint8Array(256)
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\\")) ALPHABET[byte] = 1

/** Returns the decoded length of valid base64, in bytes. */
export const decodedBytes = (text: Buffer): number =>
  Math.floor(((text.length - escapesIn(text) - paddingOf(text)) * 3) / 4)

/** Returns true for non-empty base64 in whole groups of four characters, with padding only at the end. */
export const isBase64 = (text: Buffer): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const characters = text.length - escapesIn(text)
    if (characters === 0 || characters % 4 !== 0) return Effect.succeed(false)
    return isInAlphabet(text.subarray(0, text.length - paddingOf(text)), 0)
  })

const paddingOf = (text: Buffer): number => (text.at(-1) !== PADDING ? 0 : text.at(-2) === PADDING ? 2 : 1)

const escapesIn = (text: Buffer): number => {
  let count = 0
  for (let at = text.indexOf(BACKSLASH); at >= 0; at = text.indexOf(BACKSLASH, at + 1)) count += 1
  return count
}

const isInAlphabet = (text: Buffer, from: number): Effect.Effect<boolean> => {
  const end = Math.min(text.length, from + BYTES_PER_TURN)
  for (let i = from; i < end; i++) {
    const byte = text[i] as number
    if (ALPHABET[byte] !== 1 || (byte === BACKSLASH && text[i + 1] !== SLASH)) return Effect.succeed(false)
  }
  return end === text.length ? Effect.succeed(true) : Effect.flatMap(yieldToEventLoop, () => isInAlphabet(text, end))
}
