/**
 * `RelayProtocol` describes an inference protocol to the relay: the path, and the functions that read a request,
 * translate a response and encode an error. The relay itself contains no protocol-specific code.
 */
import type { ChoiceSwitch } from "@tollgate/application/inference/DeliveredText"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type * as Either from "effect/Either"
import type { RelayError, WireErrorBody } from "../../wire/InferenceErrors.ts"
import type { ProviderNames } from "../../wire/Redaction.ts"
import type { Slices } from "../../wire/Slices.ts"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import type { UpstreamRefusal } from "../../wire/UpstreamRefusal.ts"

export type { ProviderNames } from "../../wire/Redaction.ts"

/** The error of a response that has a 2xx status, but whose body reports an error or cannot be used. */
export type ResponseFailure = UpstreamRefusal

/** The result of translating one event of a provider's stream. */
export interface Translation {
  /** Complete frames for the client; empty if the client does not get the event. */
  readonly frames: string
  /** The content in `frames`: text, reasoning, refusals and tool calls. */
  readonly content: string
  /** The positions in `content` where the choice changes; undefined if all content belongs to the first choice. */
  readonly switches?: ReadonlyArray<ChoiceSwitch> | undefined
  readonly usage: ReportedUsage | undefined
  /** `complete` or the failure if this event ends the stream; undefined if the stream continues. */
  readonly end: "complete" | ResponseFailure | undefined
}

/** Translates the events of one stream, and stores state between the events. */
export interface StreamTranslator {
  readonly translate: (event: SseEvent) => Translation
  /** Handles a provider's stream that was closed without an event that marks its end. */
  readonly close: () => Translation
  /**
   * Returns the frames that end this stream with an error. A protocol declares this function only if its error frames
   * depend on the frames that were sent before. `isLastUnsent` is true if the frames of the last translated event were
   * not sent.
   */
  readonly fail?: (error: RelayError, requestId: string, isLastUnsent: boolean) => string
}

/** A whole response (not a stream) that was rewritten for the client. */
export interface TranslatedResponse {
  readonly body: string
  /** The encoding of `body`. With `latin1`, each character of `body` stands for one byte of the JSON text in UTF-8. */
  readonly encoding: "utf8" | "latin1"
  /** Returns the content. Called only if its tokens are counted locally. */
  readonly content: () => string
  readonly usage: ReportedUsage | undefined
}

/** The values in a rewritten response that come from the gateway, not from the provider. */
export interface ResponseContext {
  /** The request id, from which protocols derive ids in their responses. */
  readonly requestId: RequestId
  readonly publicName: string
  /** The creation time in whole seconds since the Unix epoch. */
  readonly createdAtSeconds: number
}

/** An inference protocol. If `stream` is undefined, `read` refuses requests for a stream. */
export interface RelayProtocol<Request extends InferenceRequest> {
  readonly protocol: Protocol
  /** The path that clients call. */
  readonly path: string
  /** The path that is appended to a provider's base URL. */
  readonly upstreamPath: string
  /** Reads a request in slices. A small body takes one slice. */
  readonly read: (body: Buffer) => Slices<Either.Either<Request, InvalidRequest>>
  /**
   * Returns the request body for the provider of one route. Only the JSON members that select the model and request a
   * usage report differ from the client's body.
   */
  readonly bodyFor: (request: Request, upstreamModel: string) => Uint8Array
  /**
   * Returns the request headers for the provider: the headers that the protocol requires, and allowed headers of the
   * client.
   */
  readonly headersFor: (clientHeaders: NodeJS.Dict<string | Array<string>>, streamed: boolean) => Record<string, string>
  /** Rewrites a provider's whole response for the client. */
  readonly translate: (
    request: Request,
    context: ResponseContext,
    body: Buffer
  ) => Either.Either<TranslatedResponse, ResponseFailure>
  /** Returns the usage that a whole response reports, even if the response cannot be delivered. */
  readonly usageOf: (response: JsonObject) => ReportedUsage
  /** Returns the error for a provider's response whose status is not 2xx. The error text does not name the provider. */
  readonly refusal: (
    status: number,
    retryAfter: string | undefined,
    body: Buffer,
    names: ProviderNames
  ) => UpstreamRefusal
  /** Returns the error response to a request that fails before any byte of its response was sent. */
  readonly errorBody: (error: RelayError, requestId: string) => WireErrorBody
  readonly stream?: StreamProtocol<Request>
}

/** The part of a protocol that only requests for a stream use. */
export interface StreamProtocol<Request extends InferenceRequest> {
  readonly translator: (request: Request, context: ResponseContext) => StreamTranslator
  /** Translates a provider's whole response into the frames of a stream, if the client requested a stream. */
  readonly fromWholeResponse: (
    request: Request,
    context: ResponseContext,
    body: Buffer
  ) => Either.Either<Translation, ResponseFailure>
  /**
   * Returns the frames that report an error after status 200 and end the stream. Not used if the translator declares
   * `fail`.
   */
  readonly errorFrames: (error: RelayError, requestId: string) => string
}

/** A protocol that supports streams. */
export interface StreamingProtocol<Request extends InferenceRequest> extends RelayProtocol<Request> {
  readonly stream: StreamProtocol<Request>
}
