/**
 * The failures of an inference request. The HTTP adapter has one table per protocol that decides their wire form; there are
 * no statuses or codes here.
 */
import * as Schema from "effect/Schema"

/** The body is not valid for the protocol. `param` names the member at fault. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The key is missing, wrong, revoked, or sent twice with different values. */
export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {
  reason: Schema.Literal("missing", "conflicting", "unknown")
}) {}

/** No model of this name can be called with this protocol: unknown, hidden, retired, or without a route. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  model: Schema.String
}) {}

/** The body exceeds the limit of the surface or of the model. The limit is null when the provider refused: it is unknown. */
export class RequestTooLarge extends Schema.TaggedError<RequestTooLarge>()("RequestTooLarge", {
  limitBytes: Schema.NullOr(Schema.Number)
}) {}

/** The provider declined the request; its message is passed on without the provider's names. */
export class UpstreamRejected extends Schema.TaggedError<UpstreamRejected>()("UpstreamRejected", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The provider rate-limits the gateway. Not a limit of this service. */
export class TechnicalLimit extends Schema.TaggedError<TechnicalLimit>()("TechnicalLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/** The provider failed: connection refused, timeout, disconnect, or an invalid response. */
export class UpstreamFailed extends Schema.TaggedError<UpstreamFailed>()("UpstreamFailed", {
  /** For the log only; never shown. */
  cause: Schema.String
}) {}

/** The server is full, draining, or cannot reach the database: nothing was sent to a provider. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterSeconds: Schema.Number
}) {}

/** The circuit breaker of every provider that serves the model is open. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  retryAfterSeconds: Schema.Number
}) {}
