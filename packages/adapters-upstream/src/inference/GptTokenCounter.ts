/**
 * Counts tokens with OpenAI's o200k vocabulary: the local count (docs/reference/billing.md#c12).
 *
 * A byte-pair counter needs quadratic time for text without spaces: 200 KB of one repeated letter block the process for
 * 20 seconds. The text is therefore counted in windows of bounded size. A window ends before a space if it contains
 * one; a space begins a token, so such a cut does not change the count. The vocabulary is loaded at the first use.
 */

import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * Window size in UTF-8 bytes, so that every script costs the same time. A window never has more characters than this.
 */
export const WINDOW_BYTES = 1_024
/** The maximum time of counting, in milliseconds, before the counter yields to the event loop. */
const TURN_MILLIS = 4
/**
 * The library caches merged pieces, each up to a whole window. The cache is small so that clients cannot fill the
 * memory.
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

/** Options that count text that looks like a control token as plain text. */
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
  text === ""
    ? Effect.succeed(Tokens.zero)
    : Effect.gen(function* () {
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
      })

export const layer: Layer.Layer<TokenCounter> = Layer.succeed(TokenCounter, { count })
