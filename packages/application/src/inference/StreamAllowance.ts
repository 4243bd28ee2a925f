/**
 * Decides how much of a stream may be written to the client, so that no stream delivers more than its hold covers
 * (docs/reference/billing.md#i2).
 *
 * Nothing may be written before the hold is durable. After that, content may be written as long as the hold covers it.
 * The tokens of the written content are not counted immediately: text has at most one token for each UTF-8 byte, so the
 * number of bytes is an upper limit. A count by the `TokenCounter` replaces this limit when the hold would not cover
 * the limit, or when the hold is about to grow and many bytes are uncounted.
 *
 * When content waits, the prompt is counted too, unless its size is known. This count does not include the unsized
 * content of the prompt. The tokens that the hold sets aside for the unsized content are not used for output until the
 * provider reports the prompt.
 *
 *     permits(content) ── covered ─▶ true: the caller writes the content
 *        └── not covered ─▶ false ─▶ count tokens ─▶ extend the hold ─▶ onChange: the caller tries again
 *                                                          └── still not covered ─▶ `refusal` is set
 */

import { promptLimit } from "@tollgate/domain/inference/Estimate"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { isZero, type PromptUsage } from "@tollgate/domain/inference/ReportedUsage"
import { coveredOutput, covers, coversEstimate, type Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { type KeyBudgetExceeded, shortageOf } from "@tollgate/domain/ledger/KeyHold"
import { dearestPromptClass } from "@tollgate/domain/ledger/Price"
import { extensionSize, FIRST_SLICE, isSliceDue, nextSlice } from "@tollgate/domain/ledger/Slice"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Admission, Callback, InferenceLedger } from "../ledger/InferenceLedger.ts"
import type { Allowance, Delivery } from "./Delivery.ts"
import type { InferenceRequest } from "./RelayConnection.ts"
import { promptCountForHold, type TokenCounter } from "./TokenCounter.ts"

export interface AllowancePorts {
  readonly ledger: InferenceLedger["Type"]
  readonly counter: TokenCounter["Type"]
  readonly run: <A, E>(effect: Effect.Effect<A, E>, callback: Callback<A, E>) => void
}

/** If at least this many bytes are uncounted, they are counted by the `TokenCounter` before the hold grows. */
const COUNTED_BYTES = 4_096
/** The pause after an extension that the ledger could not decide. */
const RETRY_MILLIS = 250

/** Content that must not be written yet. */
interface Waiting {
  readonly content: string
  /**
   * The maximum number of tokens of the content: the number of its UTF-8 bytes, or the count of its tokens if it is
   * lower.
   */
  tokens: number
  isCounted: boolean
}

export class StreamAllowance implements Allowance {
  readonly #admission: Admission
  readonly #request: InferenceRequest
  readonly #delivery: Delivery
  readonly #ports: AllowancePorts
  #hold: Hold | undefined
  /**
   * The prompt tokens of unsized content that the first hold covered. These tokens are not used for output until the
   * provider reports the prompt.
   */
  #reservedInput = Tokens.zero
  /**
   * The token class of a prompt that the provider has not reported. If the first hold covered the estimate, it is the
   * dearest class, because the provider can write the prompt to a cache. A smaller hold is used at the price of input.
   */
  #promptClass: keyof PromptUsage = "input"
  /** The number of prompt tokens that the gateway has counted for the hold; undefined before the count. */
  #countedPrompt: Tokens.Tokens | undefined
  /** The counted tokens of the first `#countedDeltas` deltas that were sent, at most one token for each byte. */
  #countedOutput = 0
  #countedDeltas = 0
  /** The number of UTF-8 bytes of the deltas that were sent after the counted deltas. */
  #uncountedBytes = 0
  #slice = FIRST_SLICE
  /** The number of tokens that the hold covers in addition to the sent content. */
  #room = 0
  /**
   * True if the last creation or extension of the hold set aside less than was requested. The hold is then extended
   * again only if content waits.
   */
  #isExhausted = false
  #waiting: Waiting | undefined
  #isBusy = false
  /** The time from which an extension that the ledger could not decide may be repeated; undefined if there is none. */
  #retryAtMillis: number | undefined

  onChange: () => void = () => {}
  refusal: InsufficientBalance | KeyBudgetExceeded | Overloaded | undefined

  constructor(admission: Admission, request: InferenceRequest, delivery: Delivery, ports: AllowancePorts) {
    this.#admission = admission
    this.#request = request
    this.#delivery = delivery
    this.#ports = ports
  }

  get isOpen(): boolean {
    return this.#hold !== undefined
  }

  /** Stores the durable hold. `countedPrompt` is the number of counted prompt tokens, if they were counted already. */
  open(hold: Hold, countedPrompt?: Tokens.Tokens): void {
    this.#countedPrompt = countedPrompt
    this.#hold = hold
    const { estimate, price } = this.#admission
    // A hold that does not cover an estimate with unsized content was created as the only hold on its balances
    // (`decideHold`), and its request may cost more than they contain. Therefore nothing is kept back for unsized
    // content.
    if (coversEstimate(hold, estimate, price)) {
      this.#reservedInput = estimate.unsizedInput ?? Tokens.zero
      this.#promptClass = dearestPromptClass(price)
    }
    const expected = Tokens.add(countedPrompt ?? estimate.inputCeiling, this.#reservedInput)
    const usage = { ...TokenUsage.none, [this.#promptClass]: expected, output: estimate.output }
    this.#isExhausted = !covers(hold, usage, price)
    this.#measureRoom()
    this.onChange()
  }

  get sentOutputLimit(): Tokens.Tokens {
    return Tokens.fromCount(this.#countedOutput + this.#uncountedBytes)
  }

  permits(content: string): boolean {
    if (!this.isOpen || this.refusal !== undefined) return false
    if (content === "") return true
    if (!this.#isExhausted && isSliceDue(this.#room, this.#slice)) this.#makeRoom()
    const waiting = this.#waiting?.content === content ? this.#waiting : undefined
    const tokens = waiting?.tokens ?? Buffer.byteLength(content)
    if (tokens > this.#room) {
      this.#waiting = waiting ?? { content, tokens, isCounted: false }
      this.#makeRoom()
      return false
    }
    this.#waiting = undefined
    this.#room -= tokens
    // `isCounted` is true only if all content before this content was counted by the `TokenCounter` too.
    if (waiting?.isCounted) {
      this.#countedOutput += tokens
      this.#countedDeltas += 1
    } else this.#uncountedBytes += tokens
    return true
  }

  retry(nowMillis: number): void {
    if (this.#retryAtMillis === undefined || nowMillis < this.#retryAtMillis) return
    this.#retryAtMillis = undefined
    if (this.#waiting !== undefined) this.#makeRoom()
  }

  #makeRoom(): void {
    if (this.#isBusy || this.#retryAtMillis !== undefined) return
    this.#isBusy = true
    const waiting = this.#waiting
    if (waiting !== undefined && !waiting.isCounted) this.#count(waiting)
    else if (this.#uncountedBytes >= COUNTED_BYTES) this.#count(undefined)
    else this.#extend(waiting)
  }

  /**
   * Counts the content that was sent since the last count. If content waits, also counts this content, and the prompt
   * if its size is unknown.
   */
  #count(waiting: Waiting | undefined): void {
    const { counter, run } = this.#ports
    const [to, bytes] = [this.#delivery.text.sentDeltas, this.#uncountedBytes]
    const sent = this.#delivery.text.sentBetween(this.#countedDeltas, to)
    const isPromptUnknown = this.#countedPrompt === undefined && this.#reportedPrompt === undefined
    const counts = Effect.all([
      Effect.map(Effect.forEach(sent, counter.count), Tokens.sum),
      counter.count(waiting?.content ?? ""),
      waiting !== undefined && isPromptUnknown
        ? promptCountForHold(this.#request, counter)
        : Effect.succeed(this.#countedPrompt)
    ])
    run(counts, (exit) => {
      // If the count fails, the number of bytes stays the limit.
      if (Exit.isSuccess(exit)) {
        const [output, waitingOutput, prompt] = exit.value
        this.#countedOutput += Math.min(Tokens.toCount(output), bytes)
        this.#countedDeltas = to
        this.#uncountedBytes -= bytes
        this.#countedPrompt = prompt
        if (waiting !== undefined) {
          waiting.tokens = Math.min(Tokens.toCount(waitingOutput), waiting.tokens)
          waiting.isCounted = this.#uncountedBytes === 0
        }
      }
      this.#measureRoom()
      if (waiting === undefined ? isSliceDue(this.#room, this.#slice) : waiting.tokens > this.#room)
        this.#extend(waiting)
      else this.#finish()
    })
  }

  #extend(waiting: Waiting | undefined): void {
    const slice = nextSlice(this.#slice)
    const asked = extensionSize(waiting?.tokens ?? 0, slice)
    const usage = { ...this.#prompt, output: Tokens.add(this.sentOutputLimit, asked) }
    this.#ports.ledger.extend({ admission: this.#admission, usage }, (exit) => {
      if (Exit.isFailure(exit)) this.#retryAtMillis = performance.now() + RETRY_MILLIS
      else if (exit.value === undefined) this.refusal = new Overloaded({ retryAfterSeconds: 1 })
      else {
        this.#hold = exit.value
        this.#slice = slice
        this.#isExhausted = !covers(exit.value, usage, this.#admission.price)
        this.#measureRoom()
        if (waiting !== undefined && waiting.tokens > this.#room) {
          const needed = { ...this.#prompt, output: Tokens.add(this.sentOutputLimit, Tokens.fromCount(waiting.tokens)) }
          this.refusal = shortageOf(exit.value, needed, this.#admission.price) ?? new InsufficientBalance()
        }
      }
      this.#finish()
    })
  }

  #finish(): void {
    this.#isBusy = false
    // `onChange` runs in a microtask, so that the caller of `permits` has stored the waiting content first.
    if (this.#waiting !== undefined || this.refusal !== undefined) queueMicrotask(() => this.onChange())
  }

  #measureRoom(): void {
    const covered = this.#hold && coveredOutput(this.#hold, this.#prompt, this.#admission.price)
    this.#room = covered === undefined ? 0 : Tokens.toCount(covered) - this.#countedOutput - this.#uncountedBytes
  }

  get #prompt(): TokenUsage.TokenUsage {
    const { estimate } = this.#admission
    // The assumed size of a prompt that was neither counted nor reported. If the hold cannot grow, the framing of the
    // messages counts too.
    const estimated = this.#isExhausted ? promptLimit(estimate) : (estimate.inputLimit ?? estimate.inputCeiling)
    const unreported = Tokens.add(this.#countedPrompt ?? estimated, this.#reservedInput)
    return { ...TokenUsage.none, ...(this.#reportedPrompt ?? { [this.#promptClass]: unreported }) }
  }

  get #reportedPrompt(): PromptUsage | undefined {
    const { prompt } = this.#delivery.reported
    return prompt === undefined || isZero(prompt) ? undefined : prompt
  }
}
