/**
 * Defines the changes of an input, and cuts an input into pieces at positions that depend only on the input, so that a
 * finding can be reproduced from the input alone.
 */
import { FastCheck } from "effect"

export interface Change {
  readonly kind: "cut" | "double" | "exchange" | "overwrite" | "insert" | "end"
  readonly at: number
  readonly length: number
  readonly to: number
  readonly bytes: Buffer
}

/** Texts that have a meaning in many formats. */
const COMMON: ReadonlyArray<string> = [
  ...["", " ", "\n", "\r", "\r\n", "\n\n", "\t", "\0", "\u001f", "\u007f", "\u0080", "\u2028", "\ufeff", "é", "🦊"],
  ...[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "\\",
    '\\"',
    "\\u0000",
    "\\ud83d",
    "\\u006d",
    "{}",
    "[]",
    '""',
    "null",
    "true"
  ],
  ...[
    "0",
    "-",
    "-1",
    "1e9",
    "1.5",
    "00",
    "9007199254740993",
    "1e400",
    "%",
    "%00",
    "%2f",
    "..",
    "__proto__",
    "constructor"
  ]
]

const at = FastCheck.nat(0xffff)
const length = FastCheck.oneof(FastCheck.nat(4), FastCheck.nat(40), FastCheck.nat(400))

/** Lists of one to four changes that insert these words and common texts. */
export const changes = (words: ReadonlyArray<string>): FastCheck.Arbitrary<ReadonlyArray<Change>> => {
  const bytes = FastCheck.oneof(
    FastCheck.constantFrom(...COMMON, ...words, ...words).map((text) => Buffer.from(text)),
    FastCheck.uint8Array({ maxLength: 4 }).map((array) => Buffer.from(array))
  )
  const kind = FastCheck.constantFrom<Change["kind"]>(
    ...(["cut", "double", "exchange", "overwrite", "insert", "insert", "end"] as const)
  )
  return FastCheck.array(FastCheck.record({ kind, at, length, to: at, bytes }), { minLength: 1, maxLength: 4 })
}

/** The largest input. Changes could otherwise double an input again and again. */
const MAX_BYTES = 64 * 1024

export const changed = (input: Buffer, { kind, at, length, to, bytes }: Change): Buffer => {
  const start = at % (input.length + 1)
  const end = Math.min(input.length, start + length)
  const target = to % (input.length + 1)
  const range = input.subarray(start, end)
  const parts: { readonly [Kind in Change["kind"]]: ReadonlyArray<Uint8Array> } = {
    cut: [input.subarray(0, start), input.subarray(end)],
    double: [input.subarray(0, end), range, input.subarray(end)],
    exchange:
      target <= start
        ? [input.subarray(0, target), range, input.subarray(target, start), input.subarray(end)]
        : [
            input.subarray(0, start),
            input.subarray(Math.min(end, target), target),
            range,
            input.subarray(Math.max(end, target))
          ],
    overwrite: [input.subarray(0, start), bytes, input.subarray(Math.min(input.length, start + bytes.length))],
    insert: [input.subarray(0, start), bytes, input.subarray(start)],
    end: [input.subarray(0, start)]
  }
  return Buffer.concat(parts[kind]).subarray(0, MAX_BYTES)
}

export const piecesOf = (input: Buffer, variant = 0): ReadonlyArray<Buffer> => {
  const random = randomOf(input, variant)
  const pieces: Array<Buffer> = []
  const longest = [1, 7, 40, 400, 4_000][random() % 5] as number
  for (let at = 0; at < input.length; ) {
    const end = Math.min(input.length, at + 1 + (random() % longest))
    pieces.push(input.subarray(at, end))
    at = end
  }
  return pieces
}

/** Returns a random number generator (mulberry32) whose seed is a hash (FNV-1a) of the input. */
export const randomOf = (input: Buffer, variant = 0): (() => number) => {
  let state = 0x811c9dc5 ^ variant
  for (const byte of input) state = Math.imul(state ^ byte, 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return (bits ^ (bits >>> 14)) >>> 0
  }
}
