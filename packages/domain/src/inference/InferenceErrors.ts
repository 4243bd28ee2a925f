/**
 * The failures of an inference request. The HTTP adapter has one table per protocol that maps each failure to its HTTP status
 * and error code.
 */
import * as Schema from "effect/Schema"

/** The body is not valid for the protocol. `param` names the invalid member. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The key is missing, wrong, revoked, or sent twice with different values. */
export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {
  reason: Schema.Literal("missing", "conflicting", "unknown")
}) {}

/** No model with this name can be called with this protocol: it is unknown, hidden, retired, or has no route. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  model: Schema.String
}) {}

/** The body exceeds the size limit of the API or the provider. `limitBytes` is null when the provider's limit is unknown. */
export class RequestTooLarge extends Schema.TaggedError<RequestTooLarge>()("RequestTooLarge", {
  limitBytes: Schema.NullOr(Schema.Number)
}) {}

/** The provider declined the request. `message` is the provider's text without the names of provider and upstream model. */
export class UpstreamRejected extends Schema.TaggedError<UpstreamRejected>()("UpstreamRejected", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The provider rate-limits the gateway. This is not a rate limit of the gateway. */
export class TechnicalLimit extends Schema.TaggedError<TechnicalLimit>()("TechnicalLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/** The provider failed: connection refused, timeout, disconnect, or an invalid response. */
export class UpstreamFailed extends Schema.TaggedError<UpstreamFailed>()("UpstreamFailed", {
  /** The cause for the log; not sent to the client. */
  cause: Schema.String
}) {}

/** The server is full, draining, or cannot reach the database. Nothing was sent to a provider. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterSeconds: Schema.Number
}) {}

/** The circuit breaker of every provider that serves the model is open. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  retryAfterSeconds: Schema.Number
}) {}
