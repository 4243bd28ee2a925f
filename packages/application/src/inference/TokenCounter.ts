/**
 * Counts tokens locally, for example where the usage that a provider reports is absent or arrives too late.
 */
import { type LocalCounts, type Outcome, reportedPrompt } from "@tollgate/domain/inference/Charge"
import { type PromptText, TOKENS_PER_ATTACHMENT } from "@tollgate/domain/inference/PromptText"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { InferenceRequest } from "./RelayConnection.ts"

export class TokenCounter extends Context.Tag("@tollgate/application/TokenCounter")<
  TokenCounter,
  {
    /**
     * Counts the tokens of a text in linear time. For a long text, the counter yields to the event loop from time to
     * time.
     */
    readonly count: (text: string) => Effect.Effect<Tokens.Tokens>
  }
>() {}

/**
 * Counts each of the contents separately (the text of each choice of a stream, or the text of a whole response), and
 * the prompt if its usage is not reported. The caller has checked `needsLocalCount`. Events that arrive during the
 * count change neither `outcome` nor `contents`.
 */
export const localCounts = (
  outcome: Outcome,
  contents: ReadonlyArray<string>,
  request: InferenceRequest,
  counter: Context.Tag.Service<TokenCounter>
): Effect.Effect<LocalCounts> =>
  Effect.suspend(() => {
    const prompt = reportedPrompt(outcome) === undefined ? localPromptCount(request, counter) : NO_TOKENS
    return Effect.zipWith(prompt, Effect.forEach(contents, counter.count), (input, counts) => {
      const output = Tokens.sum(counts)
      return { prompt: () => input, deliveredOutput: () => output }
    })
  })

const NO_TOKENS = Effect.succeed(Tokens.zero)

const none = () => Tokens.zero
/** The counts for a request that needs no local count. */
export const NOT_COUNTED: LocalCounts = { prompt: none, deliveredOutput: none }

/** Counts the tokens of the prompt of a request. */
export const localPromptCount = (request: InferenceRequest, counter: Context.Tag.Service<TokenCounter>) =>
  countOf(request.promptText(), counter)

/**
 * Counts the tokens of a prompt that its hold must cover. The count has more tokens for each attachment than the local
 * count, which is made for a charge.
 */
export const promptCountForHold = (request: InferenceRequest, counter: Context.Tag.Service<TokenCounter>) =>
  Effect.map(localPromptCount(request, counter), (counted) =>
    Tokens.add(counted, Tokens.fromCount(request.size.attachments * UNCOUNTED_PER_ATTACHMENT))
  )

const UNCOUNTED_PER_ATTACHMENT = TOKENS_PER_ATTACHMENT.reserved - TOKENS_PER_ATTACHMENT.counted

/** Counts the tokens of a prompt. The tokens of a sample are extrapolated to the whole text. */
export const countOf = (
  { text, separateTexts = [], sampleOf, extraTokens }: PromptText,
  counter: Context.Tag.Service<TokenCounter>
): Effect.Effect<Tokens.Tokens> =>
  Effect.map(Effect.forEach([text, ...separateTexts], counter.count), (counted) => {
    const ofTexts = Tokens.sum(counted)
    const whole = sampleOf === undefined ? ofTexts : extrapolated(ofTexts, sampleOf.sampleBytes, sampleOf.textBytes)
    return Tokens.add(whole, Tokens.fromCount(extraTokens))
  })

/** Returns the tokens of a text of which a part was counted. Both sizes have the same unit. */
export const extrapolated = (tokens: Tokens.Tokens, counted: number, whole: number): Tokens.Tokens =>
  counted === 0 ? Tokens.zero : Tokens.Tokens((tokens * BigInt(whole)) / BigInt(counted))
