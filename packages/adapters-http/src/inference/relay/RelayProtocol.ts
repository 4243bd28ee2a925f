/**
 * The descriptor of an inference protocol: its path, and functions that read a request, translate a response and encode
 * an error. The relay itself contains no protocol-specific code.
 */
import type { Turn } from "@tollgate/application/inference/DeliveredText"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type * as Either from "effect/Either"
import type { RelayError, WireErrorBody } from "../../wire/InferenceErrors.ts"
import type { ProviderNames } from "../../wire/Redaction.ts"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import type { UpstreamRefusal } from "../../wire/UpstreamRefusal.ts"

export type { ProviderNames } from "../../wire/Redaction.ts"

/** The error in a response with a 2xx status. Some providers send a refusal in this way. */
export type ResponseFailure = UpstreamRefusal

/** The result of translating one event of a provider's stream. */
export interface Translation {
  /** Complete frames for the client; empty if the client does not get the event. */
  readonly frames: string
  /** The content that these frames deliver. */
  readonly content: string
  /** The positions in the content from which a choice other than the first one continues. */
  readonly turns?: ReadonlyArray<Turn> | undefined
  readonly usage: ReportedUsage | undefined
  /** `complete` or the failure if this event ends the stream; otherwise undefined. */
  readonly end: "complete" | ResponseFailure | undefined
}

/** Translates one stream and keeps state between events. */
export interface StreamTranslator {
  readonly translate: (event: SseEvent) => Translation
  /** Handles the end of a provider's stream without an event that marks the end. */
  readonly close: () => Translation
  /** Returns the frames that end this stream with an error. Declared if they depend on the frames sent before. */
  readonly fail?: (error: RelayError, requestId: string) => string
}

/** A whole response that was rewritten for the client. */
export interface TranslatedResponse {
  readonly body: string
  readonly content: string
  readonly usage: ReportedUsage | undefined
}

/** The gateway's own values in a rewritten response. */
export interface ResponseContext {
  /** The request id. Each protocol derives the ids of its objects from the request id. */
  readonly requestId: RequestId
  readonly publicName: string
  /** The creation time in whole seconds since the Unix epoch. */
  readonly createdAtSeconds: number
}

/** One inference protocol. A protocol without streams has no `stream` and reads no request as streamed. */
export interface RelayProtocol<Request extends InferenceRequest> {
  readonly protocol: Protocol
  /** The path that clients call. */
  readonly path: string
  /** The path that is appended to a provider's base URL. */
  readonly upstreamPath: string
  readonly read: (body: Buffer) => Either.Either<Request, InvalidRequest>
  /**
   * Returns the upstream body for one route: the client's bytes, except for the members that select the model and the
   * usage report.
   */
  readonly bodyFor: (request: Request, upstreamModel: string) => Uint8Array
  /** Returns the upstream headers: the client's headers on the allow-list, and the headers that the protocol needs. */
  readonly headersFor: (clientHeaders: NodeJS.Dict<string | Array<string>>, streamed: boolean) => Record<string, string>
  /** Rewrites a whole response. */
  readonly translate: (
    request: Request,
    context: ResponseContext,
    body: Buffer
  ) => Either.Either<TranslatedResponse, ResponseFailure>
  /** Returns the usage that a whole response reports, even if the response cannot be delivered. */
  readonly usageOf: (response: JsonObject) => ReportedUsage
  /** Returns the meaning of a provider's refusal (any status except 2xx). Its text no longer names the provider. */
  readonly refusal: (
    status: number,
    retryAfter: string | undefined,
    body: Buffer,
    names: ProviderNames
  ) => UpstreamRefusal
  /** Returns the response to a request that fails before any byte of a response was sent. */
  readonly errorBody: (error: RelayError, requestId: string) => WireErrorBody
  readonly stream?: StreamProtocol<Request>
}

/** The part of a protocol that only streamed requests use. */
export interface StreamProtocol<Request extends InferenceRequest> {
  readonly translator: (request: Request, context: ResponseContext) => StreamTranslator
  /** Translates a whole response to a streamed request into the frames of a stream. */
  readonly fromWholeResponse: (
    request: Request,
    context: ResponseContext,
    body: Buffer
  ) => Either.Either<Translation, ResponseFailure>
  /**
   * Returns complete frames that report an error after status 200 and end the stream. A translator's `fail` replaces
   * them.
   */
  readonly errorFrames: (error: RelayError, requestId: string) => string
}

/** A protocol that has streams. */
export interface StreamingProtocol<Request extends InferenceRequest> extends RelayProtocol<Request> {
  readonly stream: StreamProtocol<Request>
}
