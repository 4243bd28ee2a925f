/**
 * What the relay must know of a protocol: how to read its request, how to pass on an answer, how to say that
 * something went wrong. The relay itself knows no protocol.
 */
import type { Turn } from "@tollgate/application/inference/DeliveredText"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type * as Either from "effect/Either"
import type { ProviderNames } from "../../wire/CleanText.ts"
import type { RelayError, WireErrorBody } from "../../wire/InferenceErrors.ts"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import type { UpstreamRefusal } from "../../wire/UpstreamRefusal.ts"

export type { ProviderNames } from "../../wire/CleanText.ts"

/** How an answer can break once a supplier began to give it. Some refuse a request only then, under a good status. */
export type StreamBreak = UpstreamRefusal

/** What one event of a supplier's stream becomes. */
export interface Translation {
  /** Whole frames for the client, ready to be written; empty when the event is not for it. */
  readonly frames: string
  /** The content those frames deliver. */
  readonly content: string
  /** Where in the content another choice than the first goes on, if any does. */
  readonly turns?: ReadonlyArray<Turn> | undefined
  readonly usage: ReportedUsage | undefined
  /** Whether the stream is over with this event: as it should, or broken. */
  readonly end: "complete" | StreamBreak | undefined
}

/** Translates one stream; keeps what it must remember between events. */
export interface StreamTranslator {
  readonly translate: (event: SseEvent) => Translation
  /** The supplier closed its stream without having said that it ended. */
  readonly close: () => Translation
  /** The frames that end this stream with an error, where they depend on what was told before. */
  readonly fail?: (error: RelayError, requestId: string) => string
}

/** A whole answer, rewritten for the client. */
export interface TranslatedAnswer {
  readonly body: string
  readonly content: string
  readonly usage: ReportedUsage | undefined
}

/** What an answer is rewritten with. */
export interface AnswerContext {
  /** The id the client sees on chat objects; our own. */
  readonly id: string
  readonly publicName: string
  /** Whole seconds. */
  readonly createdAtSeconds: number
}

export interface RelayProtocol<Request extends InferenceRequest> {
  readonly protocol: Protocol
  /** Appended to a supplier's base address. */
  readonly upstreamPath: string
  readonly read: (body: Buffer) => Either.Either<Request, InvalidRequest>
  /** The body for one route: byte for byte the client's, but for the members that route and meter. */
  readonly bodyFor: (request: Request, upstreamModel: string) => Uint8Array
  /** The client's headers a supplier may see (allow-list), plus what the protocol wants. */
  readonly headersFor: (clientHeaders: NodeJS.Dict<string | Array<string>>, streamed: boolean) => Record<string, string>
  readonly stream: (request: Request, context: AnswerContext) => StreamTranslator
  /** A whole answer to a plain request. */
  readonly answer: (
    request: Request,
    context: AnswerContext,
    body: Buffer
  ) => Either.Either<TranslatedAnswer, StreamBreak>
  /** A whole answer to a streamed request, told as a stream. */
  readonly answerAsStream: (
    request: Request,
    context: AnswerContext,
    body: Buffer
  ) => Either.Either<Translation, StreamBreak>
  /** What a whole answer says was used, also where it is no answer that could be told. */
  readonly usageOf: (answer: JsonObject) => ReportedUsage
  /** What a supplier's refusal (any status but 2xx) means, with its text cleaned. */
  readonly refusal: (
    status: number,
    retryAfter: string | undefined,
    body: Buffer,
    names: ProviderNames
  ) => UpstreamRefusal
  /** Before anything was sent. */
  readonly errorBody: (error: RelayError, requestId: string) => WireErrorBody
  /** After the 200, unless the translator has its own: whole frames; the stream ends right after them. */
  readonly errorFrames: (error: RelayError, requestId: string) => string
}
