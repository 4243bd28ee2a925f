/**
 * The descriptor of an inference protocol: its path, how a request is read, how a response is translated, and how an
 * error is encoded. The relay itself knows no protocol.
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

/** The failure of a response after a 2xx status. Some providers refuse a request only then. */
export type ResponseFailure = UpstreamRefusal

/** The result of translating one event of a provider's stream. */
export interface Translation {
  /** Whole frames for the client, ready to be written; empty when the client does not get the event. */
  readonly frames: string
  /** The content that these frames deliver. */
  readonly content: string
  /** The positions in the content from which a choice other than the first one continues. */
  readonly turns?: ReadonlyArray<Turn> | undefined
  readonly usage: ReportedUsage | undefined
  /** Set when the stream ends with this event: complete, or with a failure. */
  readonly end: "complete" | ResponseFailure | undefined
}

/** Translates one stream; keeps state between events. */
export interface StreamTranslator {
  readonly translate: (event: SseEvent) => Translation
  /** The provider closed its stream without an event that marks the end. */
  readonly close: () => Translation
  /** The frames that end this stream with an error, where they depend on the frames sent before. */
  readonly fail?: (error: RelayError, requestId: string) => string
}

/** A whole response, rewritten for the client. */
export interface TranslatedResponse {
  readonly body: string
  readonly content: string
  readonly usage: ReportedUsage | undefined
}

/** The gateway's own values in a rewritten response. */
export interface ResponseContext {
  /** Each protocol derives the ids of its objects from it. */
  readonly requestId: RequestId
  readonly publicName: string
  /** Whole seconds. */
  readonly createdAtSeconds: number
}

/** One inference protocol; a protocol without streams has no `stream` and reads no request as streamed. */
export interface RelayProtocol<Request extends InferenceRequest> {
  readonly protocol: Protocol
  /** The path that clients call. */
  readonly path: string
  /** Appended to the base address of a provider. */
  readonly upstreamPath: string
  readonly read: (body: Buffer) => Either.Either<Request, InvalidRequest>
  /** The body for one route: byte for byte the client's, except for the members that route and meter. */
  readonly bodyFor: (request: Request, upstreamModel: string) => Uint8Array
  /** The client's headers that a provider may see (allow-list), and the headers that the protocol needs. */
  readonly headersFor: (clientHeaders: NodeJS.Dict<string | Array<string>>, streamed: boolean) => Record<string, string>
  /** Rewrites a whole response. */
  readonly translate: (
    request: Request,
    context: ResponseContext,
    body: Buffer
  ) => Either.Either<TranslatedResponse, ResponseFailure>
  /** The usage that a whole response reports, also when the response cannot be delivered. */
  readonly usageOf: (response: JsonObject) => ReportedUsage
  /** The meaning of a provider's refusal (any status except 2xx), with its text cleaned. */
  readonly refusal: (
    status: number,
    retryAfter: string | undefined,
    body: Buffer,
    names: ProviderNames
  ) => UpstreamRefusal
  /** The response to a request that fails before anything was sent. */
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
  /** Whole frames that report an error after the 200; the stream ends after them. A translator may have its own. */
  readonly errorFrames: (error: RelayError, requestId: string) => string
}

/** A protocol that has streams. */
export interface StreamingProtocol<Request extends InferenceRequest> extends RelayProtocol<Request> {
  readonly stream: StreamProtocol<Request>
}
