/**
 * Counts the tokens of a text with OpenAI's o200k vocabulary. Rule C12 in docs/reference/billing.md defines this count.
 *
 * A byte-pair counter can need quadratic time for text without spaces: 200 KB of one repeated letter would block the
 * process for 20 seconds. The counter therefore splits the text into windows of bounded size and adds the counts of the
 * windows. A window ends before a blank (such as a space or a line break) if possible. In normal text most tokens begin
 * at a blank, so the split changes the count by less than 0.1 %. The count of the first text that is not empty loads
 * the vocabulary. In production, the server makes such a count before it listens.
 */

import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { TURN_MILLIS, yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * The maximum size of a window in UTF-8 bytes. The limit is in bytes and not in characters, so that counting a window
 * takes similar time in every writing system.
 */
export const WINDOW_BYTES = 1_024
/**
 * The maximum number of text pieces whose tokens `gpt-tokenizer` caches. A piece can be as large as a window, so a
 * large cache would let clients fill the memory.
 */
const MAX_CACHED_PIECES = 1_000

/** Returns the end index of the window that starts at `start`. */
export const windowEnd = (text: string, start: number): number => {
  let bytes = 0
  let lastBlank = start
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3
    if (isBlank(code)) lastBlank = at
    if (bytes > WINDOW_BYTES) {
      if (lastBlank > start) return lastBlank
      return isLowSurrogate(code) && isHighSurrogate(text.charCodeAt(at - 1)) ? at - 1 : at
    }
  }
  return text.length
}

const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

type CountWindow = (window: string) => number

/** The options for counting text that looks like a control token, such as `<|endoftext|>`, as plain text. */
const noControlTokens = { disallowedSpecial: new Set<string>() }

let loading: Promise<CountWindow> | undefined

const load = (): Promise<CountWindow> => {
  loading ??= import("gpt-tokenizer/encoding/o200k_base").then((o200k) => {
    o200k.setMergeCacheSize(MAX_CACHED_PIECES)
    return (window) => o200k.countTokens(window, noControlTokens)
  })
  return loading
}

const count = (text: string): Effect.Effect<Tokens.Tokens> =>
  text === "" ? Effect.succeed(Tokens.zero) : Effect.gen(() => countWindows(text))

// A generator function inside `count` would keep every text in memory (docs/adr/0016-short-lived-requests.md).
function* countWindows(text: string) {
  const countWindow = yield* Effect.promise(load)
  let sum = 0
  let turnSince = performance.now()
  for (let start = 0; start < text.length; ) {
    if (performance.now() - turnSince > TURN_MILLIS) {
      yield* yieldToEventLoop
      turnSince = performance.now()
    }
    const end = windowEnd(text, start)
    sum += countWindow(text.slice(start, end))
    start = end
  }
  return Tokens.fromCount(sum)
}

export const layer: Layer.Layer<TokenCounter> = Layer.succeed(TokenCounter, { count })
