/**
 * Defines the failures of inference requests. A table in the HTTP adapter maps each failure to an HTTP status and an
 * error code.
 */
import * as Schema from "effect/Schema"

/** The request is not valid. `param` names the invalid member or header; null if the error is not about one of them. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The request contains a hosted tool (`HostedTools.ts`) that the model does not allow. */
export class UnsupportedTool extends Schema.TaggedError<UnsupportedTool>()("UnsupportedTool", {
  tool: Schema.String,
  param: Schema.String
}) {}

/**
 * The API key is missing, unknown, malformed, revoked or expired, or its user is blocked, or the request has two
 * different credentials.
 */
export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {
  reason: Schema.Literal("missing", "conflicting", "unknown")
}) {}

/**
 * No model with this name can be called with this protocol and this API key: the model is unknown, hidden or retired,
 * its kind has other protocols, it has no route to a provider with this protocol, or the key does not allow it.
 */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  model: Schema.String
}) {}

/**
 * The body exceeds the size limit of the gateway or of the provider. `limitBytes` is null if the exceeded limit is
 * unknown.
 */
export class RequestTooLarge extends Schema.TaggedError<RequestTooLarge>()("RequestTooLarge", {
  limitBytes: Schema.NullOr(Schema.Number)
}) {}

/**
 * The provider refused the request. `message` is the provider's text without the names of the provider and its model,
 * or a text of the gateway.
 */
export class UpstreamRejected extends Schema.TaggedError<UpstreamRejected>()("UpstreamRejected", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The provider limits the request rate of the gateway. This error never means that the gateway limits its clients. */
export class TechnicalLimit extends Schema.TaggedError<TechnicalLimit>()("TechnicalLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/**
 * The provider failed, for example because of a refused connection, a timeout, a disconnect, an error status or an
 * invalid response.
 */
export class UpstreamFailed extends Schema.TaggedError<UpstreamFailed>()("UpstreamFailed", {
  /** The cause for the log. The cause is not sent to the client. */
  cause: Schema.String
}) {}

/**
 * The server cannot serve the request now, for example because the server or the provider is at capacity, or because
 * the server is shutting down or cannot reach the database. The client can repeat the request.
 */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterSeconds: Schema.Number
}) {}

/**
 * A provider's circuit breaker refuses the request. The client gets this error only if the circuit breakers of all
 * routes refuse the request.
 */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  retryAfterSeconds: Schema.Number
}) {}
